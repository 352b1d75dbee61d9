import type { Model } from '../model/model.ts'
import type { Address, Settings } from '../model/settings.ts'
import type { Paint } from './paint.ts'

interface Serving {
  readonly file: string
  readonly model: Model
  readonly settings: Settings
  readonly workers: number
  readonly version: string
}

/** What somebody at a terminal wants to know first; programs read the line of the log instead. */
export function banner({ file, model, settings, workers, version }: Serving, paint: Paint): string {
  const rows = [
    ...listenerRows(model),
    ['admin', urlOf(settings.admin, 'http')],
    ['metrics', urlOf(settings.stats, 'http', '/metrics')],
    ['readiness', urlOf(settings.readiness, 'http', '/healthz/ready')],
    ['file', file],
    ['workers', String(workers)],
  ].filter((row): row is [string, string] => row[1] !== undefined)
  const width = Math.max(...rows.map(([name]) => name.length))
  const lines = rows.map(
    ([name, text]) => `  ${paint('faint', name.padEnd(width))}  ${paint('plain', text)}`,
  )
  return `${paint('title', `portcullis ${version}`)}\n\n${lines.join('\n')}\n\n`
}

/** One row for each gateway: what to type into a browser, or the port of a stream. */
function listenerRows({ gateways }: Model): readonly (readonly [string, string])[] {
  return gateways.flatMap(({ name, listeners }) => {
    const urls = listeners.flatMap(({ protocol, hostname, port }) => {
      if (port === undefined) return []
      const host = hostname === undefined || hostname.startsWith('*') ? 'localhost' : hostname
      return [`${protocol.toLowerCase()}://${host}:${port}`]
    })
    return urls.length === 0 ? [] : [[name, [...new Set(urls)].join('  ')] as const]
  })
}

function urlOf(address: Address, scheme: string, path = ''): string | undefined {
  if (address.kind === 'off') return undefined
  if (address.kind === 'unix') return `unix:${address.path}`
  const isAny = ['::', '0.0.0.0', ''].includes(address.host)
  const host = isAny ? 'localhost' : address.host.includes(':') ? `[${address.host}]` : address.host
  return `${scheme}://${host}:${address.port}${path}`
}
