//! What depends on a service, and what it depends on, hop by hop.
//!
//! The steps come in the order of a depth-first walk along *shortest* paths: a node is expanded
//! where it is nearest to a root, so that a limit on the depth only cuts what is further away, and
//! a direct dependent is always shown as one. Takes linear time, on graphs with cycles too, and
//! uses no recursion.

use crate::{
    api::{API_VERSION, StepReply, WalkReply},
    graph::{Direction, Graph},
    select::Selection,
};

/// One edge of the walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// 1 for the edges at a root.
    pub depth: u32,
    /// The edge's position in [`Graph::edges`].
    pub edge: usize,
    /// The position in [`Graph::nodes`] of the node that is nearer to the root.
    pub from: usize,
    /// The position in [`Graph::nodes`] of the node that the step leads to.
    pub node: usize,
    /// The node is a root, or is listed at another step that expands it: a cycle or a second path.
    pub again: bool,
}

/// The answer to "what depends on this" or "what does this need".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walk {
    /// The positions in [`Graph::nodes`] of the nodes that were asked about, in order.
    pub roots: Vec<usize>,
    /// The steps, in the order of a depth-first walk.
    pub steps: Vec<Step>,
}

/// No edge leads there: a root, or out of reach.
const NO_EDGE: usize = usize::MAX;

impl Graph {
    /// Walks from what was selected, at most `depth` hops far (`None`: as far as there is
    /// anything). Where a port was selected, the first hop of [`Direction::Dependents`] is only
    /// along edges to that port.
    #[must_use]
    pub fn walk(&self, from: &Selection, direction: Direction, depth: Option<u32>) -> Walk {
        let mut roots = from.nodes.clone();
        roots.sort_unstable();
        roots.dedup();
        let depth = depth.unwrap_or(u32::MAX);
        let course = Course { graph: self, port: from.port, direction, depth };
        let found_by = course.breadth_first(&roots);
        let steps = course.depth_first(&roots, &found_by);
        Walk { roots, steps }
    }

    /// A walk as the API shows it.
    ///
    /// # Panics
    /// If the walk is of another graph.
    #[must_use]
    pub fn walk_reply(&self, walk: &Walk) -> WalkReply {
        let id = |node: usize| self.nodes()[node].id.clone();
        let step = |step: &Step| StepReply {
            depth: step.depth,
            edge: self.edges()[step.edge].id.clone(),
            from: id(step.from),
            node: id(step.node),
            again: step.again,
        };
        WalkReply {
            version: API_VERSION,
            roots: walk.roots.iter().map(|&root| id(root)).collect(),
            steps: walk.steps.iter().map(step).collect(),
        }
    }
}

struct Course<'g> {
    graph: &'g Graph,
    port: Option<u16>,
    direction: Direction,
    depth: u32,
}

impl<'g> Course<'g> {
    /// The edges to follow from a node that is `depth` hops from a root.
    fn edges(&self, node: usize, depth: u32) -> impl Iterator<Item = usize> + use<'g> {
        let graph = self.graph;
        let edges: &'g [usize] =
            if depth < self.depth { graph.edges_at(node, self.direction) } else { &[] };
        let only = self.port.filter(|_| depth == 0 && self.direction == Direction::Dependents);
        edges
            .iter()
            .copied()
            .filter(move |&edge| only.is_none_or(|port| graph.edges()[edge].server_port == port))
    }

    /// The edge by which each node is found first, nearest first.
    fn breadth_first(&self, roots: &[usize]) -> Vec<usize> {
        let mut found_by = vec![NO_EDGE; self.graph.nodes().len()];
        let mut is_known = vec![false; self.graph.nodes().len()];
        for &root in roots {
            is_known[root] = true;
        }
        let mut ring = roots.to_vec();
        let mut depth = 0;
        while !ring.is_empty() {
            let mut next = Vec::new();
            for &node in &ring {
                for edge in self.edges(node, depth) {
                    let far = self.graph.far_end(edge, self.direction);
                    if !is_known[far] {
                        is_known[far] = true;
                        found_by[far] = edge;
                        next.push(far);
                    }
                }
            }
            ring = next;
            depth = depth.saturating_add(1);
        }
        found_by
    }

    /// Lists the edges of every node that was found, each node where it was found first.
    fn depth_first(&self, roots: &[usize], found_by: &[usize]) -> Vec<Step> {
        let mut steps = Vec::new();
        for &root in roots {
            let mut open = vec![(root, self.edges(root, 0))];
            while let Some((from, edges)) = open.last_mut() {
                let Some(edge) = edges.next() else {
                    open.pop();
                    continue;
                };
                let (from, node) = (*from, self.graph.far_end(edge, self.direction));
                let depth = u32::try_from(open.len()).unwrap_or(u32::MAX);
                let again = found_by[node] != edge;
                steps.push(Step { depth, edge, from, node, again });
                if !again {
                    open.push((node, self.edges(node, depth)));
                }
            }
        }
        steps
    }
}

#[cfg(test)]
mod tests;
