import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { idleServices } from '../../src/cli/idle-deps.ts'
import type { KubeObject } from '../../src/controller/cluster/object.ts'
import { snapshotOf } from '../../src/controller/cluster/snapshot.ts'
import { withClasses } from '../../src/controller/manifests.ts'
import { translate } from '../../src/controller/translate/translate.ts'
import { RequestAttributes } from '../../src/exchange/attributes.ts'
import { Connection } from '../../src/exchange/connection.ts'
import { Exchange } from '../../src/exchange/exchange.ts'
import { destinationOf, sourceOf } from '../../src/exchange/peer.ts'
import { PlainHeaders } from '../../src/exchange/plain-headers.ts'
import { compileProgram } from '../../src/program/compile.ts'
import { closeKept, retiredKept } from '../../src/program/kept.ts'
import { HttpListeners } from '../../src/proxy/http-listeners.ts'
import { defaultSettings } from '../../src/sources/file/sections/config.ts'
import { assertProperty } from './assert-property.ts'
import {
  type PlainListener,
  type PlainMatch,
  type PlainRequest,
  type PlainRoute,
  ruleFor,
} from './gateway-api.plain.ts'
import { fuzz } from './runs.ts'

const CONTROLLER = 'portcullis.dev/controller'
const HOSTS = ['example.com', 'a.example.com', 'b.a.example.com', 'other.test']
const PATTERNS = [...HOSTS, '*.example.com', '*.a.example.com', '*.com']
const PATHS = ['/', '/a', '/a/', '/a/b', '/ab', '/a/b/c']
const NAMESPACES = ['apps', 'shop']

const named = fc.record({ name: fc.constantFrom('x-a', 'x-b'), value: fc.constantFrom('1', '2') })
/** Most have no values, so that many matches have equal precedence. */
const several = fc.oneof(
  { weight: 3, arbitrary: fc.constant([]) },
  fc.uniqueArray(named, { maxLength: 2, selector: ({ name }) => name }),
)
const match: fc.Arbitrary<PlainMatch> = fc.record(
  {
    path: fc.record({
      type: fc.constantFrom('Exact' as const, 'PathPrefix' as const),
      value: fc.oneof(fc.constantFrom('/', '/a'), fc.constantFrom(...PATHS)),
    }),
    method: fc.constantFrom('GET', 'POST'),
    headers: several,
    queryParams: several,
  },
  { requiredKeys: ['path', 'headers', 'queryParams'] },
)
const listener = fc.record(
  { hostname: fc.constantFrom(...PATTERNS), from: fc.constantFrom('apps') },
  { requiredKeys: [] },
)
const listeners: fc.Arbitrary<readonly PlainListener[]> = fc
  .uniqueArray(listener, { minLength: 1, maxLength: 4, selector: (one) => one.hostname ?? '' })
  .map((all) => all.map((one, index) => ({ name: `l${index}`, ...one })))
const route: fc.Arbitrary<PlainRoute> = fc.record(
  {
    namespace: fc.constantFrom(...NAMESPACES),
    name: fc.constantFrom('r1', 'r2', 'r3', 'r4', 'r5'),
    age: fc.integer({ min: 0, max: 2 }),
    hostnames: fc.oneof(
      fc.constant([]),
      fc.uniqueArray(fc.constantFrom(...PATTERNS), { maxLength: 3 }),
    ),
    sectionName: fc.constantFrom('l0', 'l1'),
    rules: fc.array(fc.record({ matches: fc.array(match, { minLength: 1, maxLength: 3 }) }), {
      minLength: 1,
      maxLength: 3,
    }),
  },
  { requiredKeys: ['namespace', 'name', 'age', 'hostnames', 'rules'] },
)
const routes = fc.uniqueArray(route, {
  maxLength: 5,
  selector: ({ namespace, name }) => `${namespace}/${name}`,
})
const values = fc.dictionary(fc.constantFrom('x-a', 'x-b'), fc.constantFrom('1', '2'), {
  maxKeys: 2,
})
const request: fc.Arbitrary<PlainRequest> = fc.record({
  host: fc.constantFrom(...HOSTS, 'c.b.a.example.com'),
  path: fc.constantFrom(...PATHS),
  method: fc.constantFrom('GET', 'POST'),
  headers: values,
  query: values,
})

describe('HTTPRoutes', () => {
  it('receive the requests that the Gateway API assigns to them', () => {
    assertProperty(
      'gateway-api',
      fc.property(
        listeners,
        routes,
        fc.array(request, { minLength: 10, maxLength: 20 }),
        (own, all, requests) => {
          const decide = open(own, all)
          for (const one of requests) assert.equal(decide.route(one), ruleFor(own, all, one))
          decide.close()
        },
      ),
      fuzz(0.5),
    )
  })
})

const API = 'gateway.networking.k8s.io/v1'

function objects(own: readonly PlainListener[], all: readonly PlainRoute[]): readonly KubeObject[] {
  const gateway: KubeObject = {
    apiVersion: API,
    kind: 'Gateway',
    metadata: { name: 'edge', namespace: 'apps' },
    spec: {
      gatewayClassName: 'portcullis',
      listeners: own.map(({ name, hostname, from }) => ({
        name,
        protocol: 'HTTP',
        port: 80,
        ...(hostname === undefined ? {} : { hostname }),
        allowedRoutes: { namespaces: { from: from === undefined ? 'All' : 'Same' } },
      })),
    },
  }
  const made = all.map(
    ({ namespace, name, age, hostnames, sectionName, rules }): KubeObject => ({
      apiVersion: API,
      kind: 'HTTPRoute',
      metadata: {
        name,
        namespace,
        creationTimestamp: new Date(1_760_000_000_000 + age * 1000).toISOString(),
      },
      spec: {
        parentRefs: [
          {
            name: 'edge',
            namespace: 'apps',
            ...(sectionName === undefined ? {} : { sectionName }),
          },
        ],
        hostnames,
        rules: rules.map(({ matches }) => ({ matches })),
      },
    }),
  )
  return [gateway, ...made]
}

function open(own: readonly PlainListener[], all: readonly PlainRoute[]) {
  const snapshot = snapshotOf(withClasses(objects(own, all), CONTROLLER))
  const options = { controllerName: CONTROLLER, settings: defaultSettings() }
  const model = translate(snapshot, options).models.get('apps/edge')
  assert.ok(model !== undefined)
  const program = compileProgram(model, undefined, idleServices({ value: 0 }))
  const names = new HttpListeners(program.listeners)
  return {
    route(asked: PlainRequest): string | undefined {
      const found = names.forHost(asked.host)?.match(exchangeOf(asked))
      if (found === undefined || found.name === '') return undefined
      return `${found.name.replace('HTTPRoute/', '')} ${found.rule}`
    },
    close: () => closeKept(retiredKept(program, undefined)),
  }
}

function exchangeOf({ host, path, method, headers, query }: PlainRequest): Exchange {
  const [from, to] = [sourceOf('127.0.0.1', 0), destinationOf('127.0.0.1', 80, undefined)]
  assert.ok(from !== undefined && to !== undefined)
  const text = new URLSearchParams(query).toString()
  const attributes = new RequestAttributes(
    method,
    path,
    text === '' ? '' : `?${text}`,
    host,
    'http',
    'HTTP/1.1',
    new PlainHeaders(Object.entries(headers)),
    0,
  )
  return new Exchange(new Connection(from, to, false, undefined, 0), attributes)
}
