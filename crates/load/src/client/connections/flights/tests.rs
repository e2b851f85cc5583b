use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;

proptest! {
    /// A ring is a queue, whatever its neighbours do.
    #[test]
    fn rings_are_queues(
        depth in 1_u32..5,
        turns in prop::collection::vec((0_u32..3, any::<bool>()), 0..80),
    ) {
        let now = Instant::now();
        let mut flights = Flights::new(3, depth, now);
        let mut rings = [Ring::default(); 3];
        let mut queues: [VecDeque<u32>; 3] = Default::default();
        for ((slot, is_push), target) in turns.into_iter().zip(0..) {
            let (ring, queue) = (&mut rings[position(slot)], &mut queues[position(slot)]);
            if is_push && ring.count < depth {
                let number = flights.push(slot, ring, Flight { target, intended: now, begun: now });
                prop_assert_eq!(flights.slot(number), slot);
                queue.push_back(target);
            } else if !is_push {
                let popped = flights.pop(slot, ring).map(|(_, flight)| flight.target);
                prop_assert_eq!(popped, queue.pop_front());
            }
            prop_assert_eq!(position(ring.count), queue.len());
            prop_assert!(ring.unsent <= ring.count);
            for (nth, target) in queue.iter().enumerate() {
                let nth = u32::try_from(nth).unwrap();
                prop_assert_eq!(flights.get(slot, ring, nth).1.target, *target);
            }
        }
    }
}
