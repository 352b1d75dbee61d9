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
  return (name) => {
    if (NEVER.has(name)) return false
    const header = headerOf(name)
    if (header !== undefined && secret.has(header)) return false
    const known = header === undefined ? name : `request.headers${accessOf(header)}`
    if (isBelow(known, ALWAYS)) return true
    return show.some((shown) => known === shown || isUnder(known, shown))
  }
}

function isBelow(name: string, roots: ReadonlySet<string>): boolean {
  return roots.has(name) || [...roots].some((root) => isUnder(name, root))
}

function isUnder(name: string, root: string): boolean {
  return name.startsWith(`${root}.`) || name.startsWith(`${root}[`)
}

/** The name of the header, in lower case. */
function headerOf(name: string): string | undefined {
  const found = /^request\.headers(?:\.(\w+)|\['(.*)'\])$/.exec(name)
  return (found?.[1] ?? found?.[2])?.toLowerCase()
}

function accessOf(header: string): string {
  return /^[a-z_]\w*$/.test(header) ? `.${header}` : `['${header}']`
}
