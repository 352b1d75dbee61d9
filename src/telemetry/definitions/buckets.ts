/** Whole requests, from a cached response to a reasoning model: 1 ms to 2 minutes. */
export const REQUEST_SECONDS: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120,
]

/** The gateway's own work: 50 µs to 250 ms. */
export const OVERHEAD_SECONDS: readonly number[] = [
  0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
]

/** One or a few round trips: 0.5 ms to 10 s. */
export const CONNECT_SECONDS: readonly number[] = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
]

/** Until a model begins to respond: 10 ms to a minute. */
export const FIRST_TOKEN_SECONDS: readonly number[] = [
  0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2.5, 5, 10, 20, 30, 60,
]

/** Between two tokens: 400 per second to one in two seconds. */
export const TOKEN_SECONDS: readonly number[] = [
  0.0025, 0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.06, 0.08, 0.1, 0.15, 0.25, 0.5, 1, 2,
]

/** Series of a histogram by route or backend: about 500 of these before they become `other`. */
export const MANY_SERIES = 10_000
