import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import type { McpPins, McpTarget } from '../../model/backend.ts'
import type { JsonObject } from '../../model/json.ts'
import type { Attached } from '../../model/policy.ts'
import { readDocument } from '../../protocols/mcp/openapi/schema.ts'
import { readPinFile } from '../../protocols/mcp/schema.ts'
import type { McpSpec, ProxyBackendObject } from '../resources/proxy.ts'
import type { ObjectBackendRef } from '../resources/routes.ts'
import type { ResolvedRef } from './resolved-ref.ts'
import { complaint, originOf, type Read } from './view.ts'

export interface McpServerDeps {
  readonly section: (
    value: unknown,
    field: string,
    level: 'backend' | 'provider',
    policy: string,
  ) => readonly Attached[]
  readonly resolve: (ref: ObjectBackendRef, field: string) => ResolvedRef
  /** Policies that target the server of this name. */
  readonly attached: (part: string) => readonly Attached[]
  /** The entry of a ConfigMap in the backend's namespace; undefined if there is none. */
  readonly configEntry: (name: string, key: string) => string | undefined
}

type Target = McpSpec['targets'][number]
type Address = Pick<NonNullable<Target['static']>, 'host' | 'port' | 'path' | 'backendRef'>
type EntryRef = NonNullable<Target['pins']>['configMapRef']

/** As in files, without `_`, which ends the server's name in the names of its tools. */
const NAME = /^[A-Za-z0-9]([A-Za-z0-9./-]*[A-Za-z0-9])?$/

/** The servers of an MCP backend, or their errors. */
export function toMcpServers(
  read: Read<ProxyBackendObject>,
  { targets }: McpSpec,
  backend: string,
  deps: McpServerDeps,
): { readonly targets: readonly McpTarget[] } | { readonly problems: readonly Diagnostic[] } {
  const reader = new ServerReader(read, backend, deps)
  const made = targets.flatMap((target, index) => reader.read(target, `spec.mcp.targets[${index}]`))
  const { problems } = reader
  return problems.length > 0 ? { problems } : { targets: made }
}

class ServerReader {
  readonly problems: Diagnostic[] = []
  readonly #read: Read<ProxyBackendObject>
  readonly #backend: string
  readonly #deps: McpServerDeps
  readonly #names = new Set<string>()

  constructor(read: Read<ProxyBackendObject>, backend: string, deps: McpServerDeps) {
    this.#read = read
    this.#backend = backend
    this.#deps = deps
  }

  read(target: Target, field: string): readonly McpTarget[] {
    const { name, static: server, openapi } = target
    this.#checkName(name, `${field}.name`)
    const spec = server ?? openapi
    const kinds = [server, openapi, target.selector].filter((one) => one !== undefined)
    if (kinds.length !== 1) {
      return this.#complain(field, 'set exactly one of `static`, `openapi` and `selector`')
    }
    // Guessing which of several Services are meant would expose servers that are not named.
    if (spec === undefined) {
      const message = 'selecting servers by label is not supported'
      return this.#complain(`${field}.selector`, message, 'list each server with `static`')
    }
    const at = `${field}.${server === undefined ? 'openapi' : 'static'}`
    const address = this.#address(spec, at)
    const document = openapi && this.#document(openapi.schema, `${at}.schema`)
    const pins = target.pins && this.#pins(target.pins, `${field}.pins`)
    const own = `target:${this.#backend}/${name}`
    const { section, attached } = this.#deps
    const transport = openapi ? 'openapi' : server?.protocol === 'SSE' ? 'sse' : 'mcp'
    return [
      {
        name,
        origin: originOf(this.#read, field),
        transport,
        options: { ...address, ...document } as JsonObject,
        policies: [...section(spec.policies, `${at}.policies`, 'backend', own), ...attached(name)],
        ...(pins === undefined ? {} : { pins }),
      },
    ]
  }

  #checkName(name: string, field: string): void {
    if (!NAME.test(name)) {
      const hint = 'use letters, digits and . / -, and begin with a letter or a digit'
      this.#complain(field, `invalid MCP server name \`${name}\``, hint)
    }
    if (this.#names.has(name)) this.#complain(field, `duplicate server \`${name}\``)
    this.#names.add(name)
  }

  #address({ host, port, path, backendRef }: Address, field: string): JsonObject {
    const way = path === undefined ? {} : { path }
    if (backendRef !== undefined) {
      const ref = { ...backendRef, port: backendRef.port ?? port }
      return { backend: this.#deps.resolve(ref, `${field}.backendRef`).backend, ...way }
    }
    if (host !== undefined && port !== undefined) return { host, port, ...way }
    this.#complain(field, '`host` and `port`, or `backendRef`, are required')
    return way
  }

  /** The OpenAPI document whose operations are the tools. */
  #document(
    { url, configMapRef }: NonNullable<Target['openapi']>['schema'],
    field: string,
  ): JsonObject {
    if ((url === undefined) === (configMapRef === undefined)) {
      this.#complain(field, 'set exactly one of `configMapRef` and `url`')
      return {}
    }
    if (configMapRef === undefined) return { schema: { url: url as string } }
    const text = this.#entry(configMapRef, `${field}.configMapRef`)
    const problem = text === undefined ? undefined : readDocument(text)
    if (typeof problem === 'string') {
      this.#complain(`${field}.configMapRef`, `not an OpenAPI 3 document: ${problem}`)
    }
    return { schema: { text: text ?? '' } }
  }

  #pins({ mode, configMapRef }: NonNullable<Target['pins']>, field: string): McpPins {
    const at = `${field}.configMapRef`
    const text = this.#entry(configMapRef, at)
    const problem = text === undefined ? undefined : readPinFile(text)
    if (typeof problem === 'string') {
      const hint = 'create it with `portcullis pin`'
      this.#complain(at, `the entry is not a pin file: ${problem}`, hint)
    }
    return { mode, file: { text: text ?? '' } }
  }

  #entry({ name, key }: EntryRef, field: string): string | undefined {
    const text = this.#deps.configEntry(name, key)
    if (text !== undefined) return text
    const where = `${this.#read.namespace}/${name}`
    const message = `entry \`${key}\` of ConfigMap ${where} not found`
    this.problems.push(complaint(this.#read, field, 'PC0702', message))
    return undefined
  }

  #complain(field: string, message: string, hint?: string): readonly McpTarget[] {
    this.problems.push(complaint(this.#read, field, 'PC0704', message, hint))
    return []
  }
}
