import type { EventEmitter } from 'node:events'

type Listen = (event: string, listener: (...values: never[]) => void) => void

/**
 * Listens to a socket or a stream without ending the process: where a listener throws, which is an
 * error of ours, what was read and written is not known any more, so that it is closed.
 */
export function guardedEvents(
  stream: EventEmitter & { destroy(): void },
  broke: (error: unknown) => void,
): Listen {
  return (event, listener) => stream.on(event, guarded(stream, broke, listener))
}

/** The same for what is called otherwise. */
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
