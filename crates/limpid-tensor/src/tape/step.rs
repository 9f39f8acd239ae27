//! A recorded backward, stored in place: a step of training allocates nothing for its tape.

use super::Sweep;
use std::mem::MaybeUninit;

/// Room for what one backward remembers: the variables, tensors and numbers its closure captured.
const WORDS: usize = 64;

/// A closure of any type in a fixed amount of memory, called once or dropped.
pub(super) struct Step {
    pub(super) name: &'static str,
    room: [MaybeUninit<u64>; WORDS],
    /// Moves the closure out of `room` and calls it.
    call: unsafe fn(*mut u8, &mut Sweep),
    /// Drops the closure in `room`.
    discard: unsafe fn(*mut u8),
}

impl Step {
    pub(super) fn new<F: FnOnce(&mut Sweep) + 'static>(name: &'static str, backward: F) -> Self {
        const { assert!(size_of::<F>() <= WORDS * 8, "the backward remembers too much: raise WORDS") };
        const { assert!(align_of::<F>() <= 8) };
        unsafe fn call<F: FnOnce(&mut Sweep)>(room: *mut u8, sweep: &mut Sweep) {
            // SAFETY: the caller promises that `room` holds an F that nobody uses again.
            let backward = unsafe { room.cast::<F>().read() };
            backward(sweep);
        }
        unsafe fn discard<F>(room: *mut u8) {
            // SAFETY: the caller promises that `room` holds an F that nobody uses again.
            drop(unsafe { room.cast::<F>().read() });
        }
        let mut room = [MaybeUninit::uninit(); WORDS];
        // SAFETY: size and alignment were checked above (an array of u64 is aligned to 8).
        unsafe { room.as_mut_ptr().cast::<F>().write(backward) };
        Self { name, room, call: call::<F>, discard: discard::<F> }
    }

    pub(super) fn call(self, sweep: &mut Sweep) {
        // The closure is moved out of `room` by the call, so `drop` must not run.
        let mut step = std::mem::ManuallyDrop::new(self);
        let call = step.call;
        // SAFETY: `room` was filled by `new` with the F that `call` is for, and `step` is never used again.
        unsafe { call(step.room.as_mut_ptr().cast(), sweep) }
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        // SAFETY: `room` was filled by `new` with the F that `discard` is for; `call` forgets the step instead.
        unsafe { (self.discard)(self.room.as_mut_ptr().cast()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Params;
    use crate::tape::Gradients;
    use std::sync::Arc;

    #[test]
    fn what_a_step_captured_is_dropped_once_called_or_not() {
        let witness = Arc::new(());
        let step = |witness: Arc<()>| Step::new("test", move |_| drop(witness));
        let (called, dropped) = (step(witness.clone()), step(witness.clone()));
        assert_eq!(Arc::strong_count(&witness), 3);
        drop(dropped);
        assert_eq!(Arc::strong_count(&witness), 2);
        let params = Params::builder().build(0);
        let mut gradients = Gradients::new(&params);
        called.call(&mut gradients.sweep(&params));
        assert_eq!(Arc::strong_count(&witness), 1);
    }
}
