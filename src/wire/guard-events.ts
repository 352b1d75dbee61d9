import type { EventEmitter } from 'node:events'

type Listen = (event: string, listener: (...values: never[]) => void) => void

/**
 * Adds listeners to a socket or stream that cannot end the process: if a listener throws, which is
 * a bug in the gateway, the state of the stream is unknown, so it is closed.
 */
export function guardedEvents(
  stream: EventEmitter & { destroy(): void },
  broke: (error: unknown) => void,
): Listen {
  return (event, listener) => stream.on(event, guarded(stream, broke, listener))
}

/** The same for callbacks that are not event listeners. */
export function guarded(
  stream: { destroy(): void },
  broke: (error: unknown) => void,
  listener: (...values: never[]) => void,
): (...values: unknown[]) => void {
  return (...values) => {
    try {
      listener(...(values as never[]))
    } catch (error) {
      broke(error)
      stream.destroy()
    }
  }
}
