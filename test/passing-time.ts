const now = performance.now.bind(performance)
let ahead = 0
// Every deadline of a gateway is compared with this clock, which tests only ever set forward.
performance.now = () => now() + ahead

/** Lets time pass for the deadlines of this process; its timers are not affected. */
export function pass(milliseconds: number): void {
  ahead += milliseconds
}

/** Lets time pass faster until the promise settles. */
export async function hasten<T>(awaited: Promise<T>, step = 250): Promise<T> {
  const timer = setInterval(pass, 10, step)
  try {
    return await awaited
  } finally {
    clearInterval(timer)
  }
}
