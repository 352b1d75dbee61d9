import type { Model } from '../model/model.ts'
import type { Address, Settings } from '../model/settings.ts'
import { Reach } from '../reach/reach.ts'
import { omitUndefined } from '../sources/file/omit-undefined.ts'
import type { Paint } from './paint.ts'

interface Serving {
  readonly file: string
  readonly model: Model
  readonly settings: Settings
  readonly workers: number
  readonly version: string
}

/** The startup summary for a terminal; programs read the log record instead. */
export function banner({ file, model, settings, workers, version }: Serving, paint: Paint): string {
  const rows = [
    ...listenerRows(model),
    ...Object.entries(addressesOf(settings)),
    ['file', file],
    ['workers', String(workers)],
  ].filter((row): row is [string, string] => row[1] !== undefined)
  const width = Math.max(...rows.map(([name]) => name.length))
  const lines = rows.map(
    ([name, text]) => `  ${paint('faint', name.padEnd(width))}  ${paint('plain', text)}`,
  )
  return `${paint('title', `portcullis ${version}`)}\n\n${lines.join('\n')}\n\n`
}

/** The same for programs, as fields of a log record. */
export function startRecord({ file, model, settings, workers, version }: Serving) {
  const listeners = Object.fromEntries(listenerRows(model))
  return { version, file, listeners, ...addressesOf(settings), workers }
}

function addressesOf({ admin, stats, readiness }: Settings): Readonly<Record<string, string>> {
  const all = {
    admin: urlOf(admin, 'http'),
    metrics: urlOf(stats, 'http', '/metrics'),
    readiness: urlOf(readiness, 'http', '/healthz/ready'),
  }
  return omitUndefined(all)
}

/** One row per gateway: its URLs, or the ports of streams. */
function listenerRows(model: Model): readonly (readonly [string, string])[] {
  const byGateway = Map.groupBy(new Reach(model).listeners(), ({ gateway }) => gateway)
  return [...byGateway].flatMap(([{ name }, own]) => {
    const urls = own.flatMap(({ listener: { protocol, hostname, port } }) => {
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
