/** Whether a record may show this attribute of a request. */
export type IsShown = (name: string) => boolean

/** Known for every request, and in its record anyway. */
const ALWAYS: ReadonlySet<string> = new Set([
  'request.method',
  'request.path',
  'request.host',
  'request.scheme',
  'request.version',
  'request.id',
  'request.startTime',
  'source.address',
  'source.port',
  'source.rawAddress',
  'source.rawPort',
  'destination',
  'proxy',
  'backend',
  'mcp.methodName',
  'mcp.tool.target',
  'mcp.tool.name',
  'mcp.prompt.target',
  'mcp.prompt.name',
  'mcp.resource.target',
  'mcp.resource.name',
])

/** May hold credentials, whatever the configuration shows. */
const NEVER: ReadonlySet<string> = new Set([
  'request',
  'request.headers',
  'request.query',
  'request.pathAndQuery',
  'request.uri',
  'request.body',
])

const CREDENTIALS: readonly string[] = [
  'authorization',
  'proxy-authorization',
  'cookie',
  'api-key',
  'x-api-key',
  'x-auth-token',
  'x-goog-api-key',
]

/** Shows what `show` names and everything below it; headers that carry secrets are never shown. */
export function compileRedaction(
  show: readonly string[],
  sensitiveHeaders: readonly string[],
): IsShown {
  const secret = new Set([...CREDENTIALS, ...sensitiveHeaders])
  const shown = new Set([...ALWAYS, ...show])
  return (name) => {
    if (NEVER.has(name)) return false
    const header = headerOf(name)
    if (header === undefined) return isWithin(name, shown)
    return !secret.has(header) && isWithin(`request.headers${accessOf(header)}`, shown)
  }
}

const DOT = 0x2e
const BRACKET = 0x5b

/** Whether it is one of the roots, or below one. */
function isWithin(name: string, roots: ReadonlySet<string>): boolean {
  if (roots.has(name)) return true
  for (let end = 1; end < name.length; end++) {
    const code = name.charCodeAt(end)
    if ((code === DOT || code === BRACKET) && roots.has(name.slice(0, end))) return true
  }
  return false
}

const HEADERS = 'request.headers'

/** The name of the header, in lower case. */
function headerOf(name: string): string | undefined {
  if (!name.startsWith(HEADERS)) return undefined
  const match = /^(?:\.(\w+)|\['(.*)'\])$/.exec(name.slice(HEADERS.length))
  return (match?.[1] ?? match?.[2])?.toLowerCase()
}

function accessOf(header: string): string {
  return /^[a-z_]\w*$/.test(header) ? `.${header}` : `['${header}']`
}
