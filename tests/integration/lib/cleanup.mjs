// SPDX-License-Identifier: Apache-2.0
// What a test opened is closed after it in the reverse order, all of it, whatever of that fails.

const stacks = new WeakMap();

export function cleanup(t, fn) {
  if (!stacks.has(t)) {
    const stack = [];
    stacks.set(t, stack);
    t.after(async () => {
      const errors = [];
      while (stack.length > 0) {
        try {
          await stack.pop()();
        } catch (error) {
          errors.push(error);
        }
      }
      if (errors.length > 0) throw errors[0];
    });
  }
  stacks.get(t).push(fn);
}
