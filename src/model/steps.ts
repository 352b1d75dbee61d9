/** No request waits longer than this for something that is done between requests, in milliseconds. */
const LONGEST_SLICE = 8

/**
 * The same for what is done for one request while others are served: each of them takes several
 * turns, and waits in all of them.
 */
export const REQUEST_SLICE = 2

/** Steps of something long between requests: no more than some milliseconds at once. */
export async function runCooperatively<T>(
  steps: Generator<void, T>,
  now: () => number,
  longest = LONGEST_SLICE,
): Promise<T> {
  for (let began = now(); ; ) {
    const { done, value } = steps.next()
    if (done === true) return value
    if (now() - began < longest) continue
    await new Promise((resolve) => setImmediate(resolve))
    began = now()
  }
}

/** The same at once, where nobody waits. */
export function runToCompletion<T>(steps: Generator<void, T>): T {
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
  }
}
