/** The longest that a request waits for work that is done between requests, in milliseconds. */
const MAX_SLICE = 8

/**
 * The same for work on behalf of one request while others are served: each of them takes several
 * turns of the event loop, and waits in all of them.
 */
export const REQUEST_SLICE = 2

/** Runs the steps of a long task between requests, only some milliseconds at a time. */
export async function runCooperatively<T>(
  steps: Generator<void, T>,
  now: () => number,
  longest = MAX_SLICE,
): Promise<T> {
  for (let began = now(); ; ) {
    const { done, value } = steps.next()
    if (done === true) return value
    if (now() - began < longest) continue
    await new Promise((resolve) => setImmediate(resolve))
    began = now()
  }
}

/** Runs the steps all at once, when nothing is waiting. */
export function runToCompletion<T>(steps: Generator<void, T>): T {
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
  }
}
