import * as z from 'zod'
import { scalar } from './scalars.ts'
import { oneOfKeys } from './shapes.ts'
import { sentPath } from './written-path.ts'

export type Authority = 'auto' | 'none' | { readonly host?: string; readonly port?: number }

export type NewPath =
  | { readonly kind: 'full'; readonly value: string }
  | { readonly kind: 'prefix'; readonly value: string }

const hostText = () =>
  scalar<string>({
    what: 'a host',
    hint: 'use a name such as example.com, without a scheme or path',
    pattern: /^([A-Za-z0-9._-]+|\[[0-9a-fA-F:.]+\])$/,
    parse: (text) => text.toLowerCase(),
  })

const fullText = () =>
  scalar<{ readonly host: string; readonly port?: number }>({
    what: 'a host or host:port',
    hint: 'use host or host:port',
    pattern: /^([A-Za-z0-9._-]+|\[[0-9a-fA-F:.]+\])(:[0-9]{1,5})?$/,
    parse: (text) => {
      const [, host = '', port] = /^(\[.*\]|[^:]*)(?::(\d+))?$/.exec(text) ?? []
      if (port === undefined) return { host: host.toLowerCase() }
      const number = Number(port)
      return number > 0 && number < 65_536 ? { host: host.toLowerCase(), port: number } : undefined
    },
  })

/** `auto`, `none`, or an object with one of `full`, `host` and `port`. */
export const authority = () =>
  z
    .union([
      z.enum(['auto', 'none']),
      oneOfKeys(
        z.strictObject({
          full: fullText().optional().describe('The host and port.'),
          host: hostText().optional().describe('The host. The port is kept.'),
          port: z.int().min(1).max(65_535).optional().describe('The port. The host is kept.'),
        }),
        ['full', 'host', 'port'],
      ),
    ])
    .transform((value): Authority => {
      if (typeof value === 'string') return value
      if (value.full !== undefined) return value.full
      return value.host === undefined ? { port: value.port as number } : { host: value.host }
    })

export const newPath = () =>
  oneOfKeys(
    z.strictObject({
      full: sentPath().optional().describe('The full path.'),
      prefix: sentPath().optional().describe('The replacement for the matched prefix.'),
    }),
    ['full', 'prefix'],
  ).transform(({ full, prefix }): NewPath => {
    return full === undefined
      ? { kind: 'prefix', value: prefix as string }
      : { kind: 'full', value: full }
  })
