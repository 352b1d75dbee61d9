import { isDeepStrictEqual } from 'node:util'
import { parseAllDocuments, stringify } from 'yaml'
import { snapshotOf } from '../../controller/cluster/snapshot.ts'
import { combineModels } from '../../controller/combine.ts'
import { plainValue, readManifests, withClasses } from '../../controller/manifests.ts'
import { translate } from '../../controller/translate/translate.ts'
import type { Backend } from '../../model/backend.ts'
import type { Gateway } from '../../model/gateway.ts'
import type { Model } from '../../model/model.ts'
import type { Attached } from '../../model/policy.ts'
import type { BackendRef, Route, RouteRule, ValueMatch } from '../../model/route.ts'
import { loadText } from '../../sources/file/load.ts'
import { defaultSettings } from '../../sources/file/sections/config.ts'
import { type Conversion, compact, DENIES, DENY_ALL, type Lost, Names } from './conversion.ts'
import { applySecurityPolicies, envoyObjects } from './envoy-gateway.ts'

const CONTROLLER_NAME = 'portcullis.dev/controller'
/** Without these, a request is served differently, but to the same clients. */
const UNGUARDED = new Set([
  'compression',
  'requestMirror',
  'responseHeaders',
  'retry',
  'sessionPersistence',
  'timeout',
])

/** Converts manifests as the controller would, including the policies of Envoy Gateway. */
export function convertManifests(text: string, file: string): Conversion {
  const { objects, diagnostics } = readManifests([{ file, text }])
  const lost: Lost[] = diagnostics.map(({ origin, message }) => {
    const line = origin.kind === 'file' ? origin.line : undefined
    return { line, what: 'an object', why: message }
  })
  // Gateways are converted regardless of the controller that their class names.
  const claimed = objects.map((object) =>
    object.kind === 'GatewayClass'
      ? {
          ...object,
          spec: { ...(object as { spec?: object }).spec, controllerName: CONTROLLER_NAME },
        }
      : object,
  )
  const settings = defaultSettings()
  const translation = translate(snapshotOf(withClasses(claimed, CONTROLLER_NAME)), {
    controllerName: CONTROLLER_NAME,
    settings,
    assumesMissing: true,
  })
  for (const { severity, message, origin } of translation.diagnostics) {
    if (severity !== 'error') continue
    const what = origin.kind === 'object' ? `${origin.object} ${origin.field}` : 'an object'
    lost.push({ line: undefined, what, why: message })
  }
  const model = combineModels(translation.models.values())
  const document = new ModelWriter(model, lost).write()
  const all = parseAllDocuments(text).map(plainValue)
  applySecurityPolicies(document, envoyObjects(all), lost)
  return { document: { ...document }, lost }
}

interface Written {
  readonly gateways: Record<string, unknown>
  readonly routes: Record<string, unknown>[]
}

class ModelWriter {
  readonly #model: Model
  readonly #lost: Lost[]
  readonly #names = new Names()
  readonly #backends: ReadonlyMap<string, Backend>
  /** `gateway/listener` in the Model → in the file. */
  readonly #listeners = new Map<string, string>()

  constructor(model: Model, lost: Lost[]) {
    this.#model = model
    this.#lost = lost
    this.#backends = new Map(model.backends.map((one) => [one.name, one]))
  }

  write(): Written {
    const gateways = Object.fromEntries(this.#model.gateways.flatMap((one) => this.#gateway(one)))
    const routes = this.#model.routes.flatMap((route) =>
      route.rules.map((rule, index) => this.#rule(route, rule, index)),
    )
    for (const { name } of this.#model.tcpRoutes)
      this.#lose(name, 'TCP and TLS routes are not converted')
    return { gateways, routes }
  }

  #lose(what: string, why: string): void {
    this.#lost.push({ line: undefined, what, why })
  }

  /** A gateway in a file has one port. */
  #gateway({ name, listeners, policies }: Gateway): readonly (readonly [string, unknown])[] {
    return [...new Set(listeners.map(({ port }) => port))].map((port) => {
      const own = this.#names.take(`${name}-${port}`)
      const here = listeners.filter((one) => one.port === port)
      const written = here.map((listener) => {
        const { name: called, hostname, protocol } = listener
        this.#listeners.set(`${name}/${called}`, `${own}/${called}`)
        const isTls = protocol === 'HTTPS' || protocol === 'TLS'
        if (isTls)
          this.#lose(
            `listener ${name}/${called}`,
            `store its certificate in ${called}.crt and its key in ${called}.key`,
          )
        const tls = isTls ? { cert: `${called}.crt`, key: `${called}.key` } : undefined
        const shared = this.#policies(`listener ${called}`, [...policies, ...listener.policies])
        return compact({ name: called, hostname, tls, policies: shared })
      })
      return [own, { port, listeners: written }]
    })
  }

  #rule(route: Route, rule: RouteRule, index: number): Record<string, unknown> {
    const source = route.name.replace(/^[A-Za-z]+Route\//, '')
    const name = this.#names.take(route.rules.length === 1 ? source : `${source}-${index}`)
    // All parents, not only effective ones: a route without any would get the default gateway.
    const gateways = route.parents.map(
      ({ gateway, listener }) => this.#listeners.get(`${gateway}/${listener}`) ?? gateway,
    )
    const policies = this.#policies(`route ${source}`, [...route.policies, ...rule.policies])
    const matches = rule.matches.map(({ path, method, headers, query }) =>
      compact({
        path: { [PATHS[path.kind]]: path.value },
        method,
        headers: headers.map(matchOf),
        query: query.map(matchOf),
      }),
    )
    const backends = rule.action.kind === 'forward' ? rule.action.backends : undefined
    const written = backends?.flatMap((one) => this.#backend(one, policies, source))
    if (backends === undefined) {
      this.#lose(`route ${source}`, 'it is invalid: its requests get 500')
      policies['directResponse'] = { status: 500 }
    }
    return compact({
      name,
      gateways,
      hostnames: route.hostnames,
      matches,
      policies,
      backends: written,
    })
  }

  #backend(
    { backend, weight, policies }: BackendRef,
    around: Record<string, unknown>,
    source: string,
  ): readonly unknown[] {
    const found = this.#backends.get(backend)
    const [, namespace, name, port] = /^Service\/([^/]+)\/([^/]+)\/(\d+)$/.exec(backend) ?? []
    const hosts =
      name !== undefined
        ? [`${name}.${namespace}.svc.cluster.local:${port}`]
        : found?.kind === 'host'
          ? found.endpoints.flatMap((one) => ('host' in one ? [`${one.host}:${one.port}`] : []))
          : []
    const all = [...(found?.policies ?? []), ...policies]
    for (const { kind } of all) {
      this.#lose(`${kind} of ${backend}`, DENIES)
      around['authorization'] = DENY_ALL
    }
    if (hosts.length === 0) {
      this.#lose(
        `backend ${backend} of ${source}`,
        'its kind is not supported: its share of requests gets 500',
      )
      around['directResponse'] = { status: 500 }
      return []
    }
    return [compact({ ...(hosts.length === 1 ? { host: hosts[0] } : { hosts }), weight })]
  }

  #policies(place: string, attached: readonly Attached[]): Record<string, unknown> {
    const policies: Record<string, unknown> = {}
    let isDenied = false
    for (const one of attached) {
      const value = one.state === 'valid' ? fileValue(one.kind, one.value) : undefined
      const isFirst = !(one.kind in policies)
      if (one.state === 'valid' && isFirst && means(one.kind, value, one.value))
        policies[one.kind] = value
      else {
        const isGuard = !UNGUARDED.has(one.kind)
        isDenied ||= isGuard
        this.#lose(`${one.kind} of ${place}`, isGuard ? DENIES : 'it is not converted')
      }
    }
    if (isDenied) policies['authorization'] = DENY_ALL
    return policies
  }
}

const PATHS = { exact: 'exact', prefix: 'pathPrefix', regex: 'regex' } as const

function matchOf({ name, kind, value }: ValueMatch): object {
  return { name, value: { [kind]: value } }
}

/** Converts a value of the Model to the format of a file. */
function fileValue(kind: string, value: unknown): unknown {
  const record = value as Record<string, never>
  switch (kind) {
    case 'requestHeaders':
    case 'responseHeaders': {
      const {
        set = [],
        add = [],
        remove = [],
      } = record as Record<string, { name: string; value: string }[]>
      const map = (list: { name: string; value: string }[]) =>
        Object.fromEntries(list.map((one) => [one.name, one.value]))
      return compact({ set: map(set), add: map(add), remove })
    }
    case 'urlRewrite':
    case 'requestRedirect': {
      const { path, ...rest } = record as { path?: { kind: string; value: string } }
      return compact({ ...rest, path: path && { [path.kind]: path.value } })
    }
    case 'timeout':
      return Object.fromEntries(
        Object.entries(record).map(([name, time]) => [
          name,
          typeof time === 'number' ? `${time}ms` : time,
        ]),
      )
    case 'authorization': {
      const { rules, mode } = record as unknown as {
        rules: readonly { action: string; expression: string }[]
        mode: string
      }
      const written = rules.map(({ action, expression }) => ({
        [action.toLowerCase()]: expression,
      }))
      return { rules: written, ...(mode === 'Enforce' ? {} : { mode }) }
    }
    default:
      return value
  }
}

/** Whether the file reader yields the same value; values that differ are not converted. */
function means(kind: string, written: unknown, value: unknown): boolean {
  const policies = { [kind]: written }
  const document = { gateways: { default: { port: 1 } }, routes: [{ name: 'a', policies }] }
  const { result } = loadText(stringify(document), 'convert.yaml', { environment: {} })
  const found = result.value?.routes[0]?.policies.find((one) => one.kind === kind)
  return found?.state === 'valid' && isDeepStrictEqual(plain(found.value), plain(value))
}

/** Removes positions. */
function plain(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (key, member) =>
      key === 'field' || key === 'origin' ? undefined : member,
    ),
  )
}
