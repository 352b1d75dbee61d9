import type { Streams } from '../program/streams.ts'
import type { StreamRouter } from './stream-types.ts'

/** Routes connections of TCP and TLS listeners by the running configuration. */
export function streamRouter(streams: () => Streams | undefined): StreamRouter {
  return (listener, connection, tried) => {
    const chosen = streams()?.choose(listener, connection, tried) ?? 'no-route'
    if (typeof chosen === 'string') return chosen
    const { backend, choice } = chosen
    return {
      backend,
      endpoint: choice.endpoint,
      dial: (_permit, events) => choice.pool.connect(events),
      done: (attempt) => choice.done(attempt),
    }
  }
}
