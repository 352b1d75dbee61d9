import { parseIp } from '../../src/cel/values/ip.ts'
import { RequestAttributes } from '../../src/exchange/attributes.ts'
import { Connection, Destination, Source } from '../../src/exchange/connection.ts'
import { Exchange } from '../../src/exchange/exchange.ts'
import { HeaderView } from '../../src/exchange/header-view.ts'

export interface Asked {
  readonly method?: string
  /** Path and query. */
  readonly url?: string
  readonly host?: string
  readonly scheme?: 'http' | 'https'
  readonly port?: number
  readonly address?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** A request as policies and routes see it, without a connection. */
export function exchangeOf({
  method = 'GET',
  url = '/',
  host = 'example.com',
  scheme = 'http',
  port = scheme === 'http' ? 80 : 443,
  address = '10.0.0.7',
  headers = {},
}: Asked = {}): Exchange {
  const source = new Source(ip(address), 40_000)
  const destination = new Destination(ip('10.0.0.1'), port, undefined)
  const connection = new Connection(source, destination, scheme === 'https', undefined, 0)
  const mark = url.indexOf('?')
  const path = mark === -1 ? url : url.slice(0, mark)
  const search = mark === -1 ? '' : url.slice(mark)
  const view = new PlainHeaders(headers)
  const request = new RequestAttributes(method, path, search, host, scheme, 'HTTP/1.1', view, 0)
  return new Exchange(connection, request)
}

function ip(text: string) {
  const parsed = parseIp(text)
  if (parsed === undefined) throw new Error(`${text} is no address`)
  return parsed
}

class PlainHeaders extends HeaderView {
  readonly #headers: ReadonlyMap<string, string>

  constructor(headers: Readonly<Record<string, string>>) {
    super()
    const entries = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])
    this.#headers = new Map(entries as [string, string][])
  }

  get size(): number {
    return this.#headers.size
  }

  get(name: unknown): string | undefined {
    return typeof name === 'string' ? this.#headers.get(name.toLowerCase()) : undefined
  }

  all(name: string): readonly string[] | undefined {
    const value = this.get(name)
    return value === undefined ? undefined : [value]
  }

  keys(): Iterable<string> {
    return this.#headers.keys()
  }
}
