//! A recorded backward closure, stored inline: a training step allocates nothing for its tape.

use super::BackwardPass;
use std::mem::MaybeUninit;

/// Size of the inline storage, in words: the variables, tensors and numbers a closure captures.
const WORDS: usize = 64;

/// A closure of any type in a fixed amount of memory, either called once or dropped.
pub(super) struct Step {
    pub(super) name: &'static str,
    storage: [MaybeUninit<u64>; WORDS],
    /// Moves the closure out of `storage` and calls it.
    call: unsafe fn(*mut u8, &mut BackwardPass),
    /// Drops the closure in `storage`.
    drop_in_place: unsafe fn(*mut u8),
}

impl Step {
    pub(super) fn new<F: FnOnce(&mut BackwardPass) + 'static>(
        name: &'static str,
        backward: F,
    ) -> Self {
        const { assert!(size_of::<F>() <= WORDS * 8, "the closure is too large: raise WORDS") };
        const { assert!(align_of::<F>() <= 8) };
        unsafe fn call<F: FnOnce(&mut BackwardPass)>(storage: *mut u8, pass: &mut BackwardPass) {
            // SAFETY: the caller guarantees that `storage` holds an F that is not used again.
            let backward = unsafe { storage.cast::<F>().read() };
            backward(pass);
        }
        unsafe fn drop_in_place<F>(storage: *mut u8) {
            // SAFETY: the caller guarantees that `storage` holds an F that is not used again.
            drop(unsafe { storage.cast::<F>().read() });
        }
        let mut storage = [MaybeUninit::uninit(); WORDS];
        // SAFETY: size and alignment were checked above (an array of u64 is aligned to 8).
        unsafe { storage.as_mut_ptr().cast::<F>().write(backward) };
        Self { name, storage, call: call::<F>, drop_in_place: drop_in_place::<F> }
    }

    pub(super) fn call(self, pass: &mut BackwardPass) {
        // The closure is moved out of `storage` by the call, so `drop` must not run.
        let mut step = std::mem::ManuallyDrop::new(self);
        let call = step.call;
        // SAFETY: `storage` was filled by `new` with the F that `call` is for, and `step` is never
        // used again.
        unsafe { call(step.storage.as_mut_ptr().cast(), pass) }
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        // SAFETY: `storage` was filled by `new` with the F that `drop_in_place` is for; `call`
        // forgets the step instead.
        unsafe { (self.drop_in_place)(self.storage.as_mut_ptr().cast()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Params;
    use crate::tape::Gradients;
    use std::sync::Arc;

    #[test]
    fn captured_values_are_dropped_once_whether_the_step_is_called_or_not() {
        let witness = Arc::new(());
        let step = |witness: Arc<()>| Step::new("test", move |_| drop(witness));
        let (called, dropped) = (step(witness.clone()), step(witness.clone()));
        assert_eq!(Arc::strong_count(&witness), 3);
        drop(dropped);
        assert_eq!(Arc::strong_count(&witness), 2);
        let params = Params::builder().build(0);
        let mut gradients = Gradients::new(&params);
        called.call(&mut gradients.pass(&params));
        assert_eq!(Arc::strong_count(&witness), 1);
    }
}
