import { call } from '../api/client.ts'
import type { PlaygroundResponse } from '../api/shapes.ts'
import type { Way } from '../parts/ways.ts'

interface Played {
  readonly listener: string
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

/** Sends the request through the gateway itself, so that all of its policies apply. */
export function play(request: Played): Promise<PlaygroundResponse> {
  return call('/api/playground', { method: 'POST', body: request })
}

export function listenerOf({ listener: { gateway, listener } }: Way): string {
  return `${gateway}/${listener}`
}

/** Reads headers in the form `name: value`, one per line. */
export function readHeaders(text: string): Readonly<Record<string, string>> {
  const lines = text.split('\n').filter((line) => line.includes(':'))
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf(':')
      return [line.slice(0, at).trim().toLowerCase(), line.slice(at + 1).trim()]
    }),
  )
}
