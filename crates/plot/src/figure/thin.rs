//! As many points as can be seen.

use super::Point;

/// Points that look the same on `pixels`: of those that fall on one, the first, the last, the
/// lowest and the highest, in their order. What is not finite is left out.
pub(super) fn thin(points: &[Point], pixels: f64) -> Vec<Point> {
    let is_finite = |point: &&Point| point.x.is_finite() && point.y.is_finite();
    let points: Vec<Point> = points.iter().filter(is_finite).copied().collect();
    let xs = || points.iter().map(|point| point.x);
    let (low, high) = (xs().fold(f64::INFINITY, f64::min), xs().fold(f64::NEG_INFINITY, f64::max));
    #[expect(clippy::cast_precision_loss, reason = "compared with the width of a picture")]
    if (points.len() as f64) <= pixels * 4.0 || low >= high {
        return points;
    }
    let pixel = |point: &Point| ((point.x - low) / (high - low) * pixels).floor();
    let mut thinned = Vec::new();
    for together in points.chunk_by(|one, next| pixel(one) == pixel(next)) {
        let by_height =
            |one: &usize, other: &usize| together[*one].y.total_cmp(&together[*other].y);
        let lowest = (0..together.len()).min_by(by_height).unwrap_or(0);
        let highest = (0..together.len()).max_by(by_height).unwrap_or(0);
        let mut kept = [0, lowest, highest, together.len() - 1];
        kept.sort_unstable();
        let mut before = None;
        for nth in kept {
            if before.replace(nth) != Some(nth) {
                thinned.push(together[nth]);
            }
        }
    }
    thinned
}
