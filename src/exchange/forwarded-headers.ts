import type { Header } from './header-edit.ts'
import type { HeaderView } from './header-view.ts'

/**
 * Headers by which proxies tell a backend about the client, in lower case. A client can write any
 * of them, so those of clients are not copied: the gateway writes its own.
 */
export const FORWARDED_NAMES: readonly string[] = [
  ...['forwarded', 'x-real-ip', 'x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host'],
  ...['x-forwarded-by', 'x-forwarded-port', 'x-forwarded-prefix', 'x-forwarded-protocol'],
  ...['x-forwarded-scheme', 'x-forwarded-server', 'x-forwarded-ssl', 'x-forwarded-client-cert'],
  // Of proxies that sign people in.
  ...['x-forwarded-user', 'x-forwarded-email', 'x-forwarded-groups'],
  ...['x-forwarded-preferred-username', 'x-forwarded-access-token'],
]

/** What backends get under these names, instead of what the client sent. */
export class ForwardedHeaders {
  readonly added: readonly Header[]
  /** Rendered by the wire, once. */
  rendered: unknown = undefined

  constructor(added: readonly Header[]) {
    this.added = added
  }

  /** Those that no policy removes or replaces. */
  besides(removed: readonly string[]): readonly Header[] {
    return this.added.filter(([name]) => !removed.includes(name))
  }
}

/** Nothing is said about the client. */
export const NOTHING_FORWARDED = new ForwardedHeaders([])

const NAMES: ReadonlySet<string> = new Set(FORWARDED_NAMES)

/** `name` is in lower case. Underscores count as dashes, as for many backends. */
function isForwardedName(name: string): boolean {
  return NAMES.has(name) || NAMES.has(name.replaceAll('_', '-'))
}

interface Given {
  readonly forwarded: ForwardedHeaders | undefined
  readonly request: { readonly headers: Pick<HeaderView, 'get' | 'keys'> }
}

/** A header of the request as backends and services get it, if no policy changes it. */
export function givenHeader({ forwarded, request }: Given, name: string): string | undefined {
  if (forwarded === undefined || !isForwardedName(name)) return request.headers.get(name)
  return forwarded.added.find(([own]) => own === name)?.[1]
}

/** The names of all of these headers, in lower case. */
export function givenNames({ forwarded, request }: Given): readonly string[] {
  const names = [...request.headers.keys()]
  if (forwarded === undefined) return names
  const others = names.filter((name) => !isForwardedName(name))
  return [...others, ...forwarded.added.map(([name]) => name)]
}
