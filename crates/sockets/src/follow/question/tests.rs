use super::*;

#[test]
fn answers_are_in_the_place_of_questions() {
    let asked = [(7, Where::Socket(0x1000)), (8, Where::Chain(0x2000, 3)), (9, Where::Socket(1))];
    let mut bytes = vec![0; BYTES * MOST];
    encode(&asked, &mut bytes);
    assert_eq!(bytes[8..16], 7_u64.to_ne_bytes());
    assert_eq!(bytes[16..20], AT_SOCKET.to_ne_bytes());
    assert_eq!(bytes[BYTES + 16..BYTES + 20], 3_u32.to_ne_bytes());
    // As the kernel answers: gone, in TIME-WAIT, and moved about.
    bytes[16] = IS_GONE;
    bytes[BYTES + 16..BYTES + 18].copy_from_slice(&[2, 6]);
    bytes[2 * BYTES + 16] = IS_UNKNOWN;
    let mut answers = Vec::new();
    decode(&asked, &bytes, &mut |cookie, answer| answers.push((cookie, answer)));
    let expected = [(7, Answer::Gone), (8, Answer::Waiting(State::TimeWait)), (9, Answer::Unknown)];
    assert_eq!(answers, expected);
}
