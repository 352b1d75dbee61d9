import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { defaultSettings } from '../../sources/file/sections/config.ts'
import { snapshotOf } from '../cluster/snapshot.ts'
import { readManifests, withClasses } from '../manifests.ts'
import { noticesOf } from '../status/events.ts'
import { type Translation, translate } from './translate.ts'

const CONTROLLER = 'portcullis.dev/controller'
const BASE = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: { name: edge, namespace: shop, generation: 1 }
spec: { gatewayClassName: portcullis, listeners: [{ name: http, protocol: HTTP, port: 80 }] }
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: { name: web, namespace: shop, generation: 1 }
spec:
  parentRefs: [{ name: edge }]
  rules: [{ name: main, backendRefs: [{ name: web, port: 80 }, { group: portcullis.dev, kind: ProxyBackend, name: ai }] }]
---
apiVersion: v1
kind: Service
metadata: { name: web, namespace: shop }
spec: { ports: [{ name: http, port: 80 }] }
---
apiVersion: portcullis.dev/v1alpha1
kind: ProxyBackend
metadata: { name: ai, namespace: shop, generation: 1 }
spec: { ai: { provider: { name: one, provider: { openAI: {} } } } }
`

const RULES = '{ authorization: { action: Allow, policy: { matchExpressions: ["true"] } } }'
const FRONTEND =
  '{ networkAuthorization: { action: Allow, policy: { matchExpressions: ["true"] } } }'

function policy(targets: string, section = 'traffic'): string {
  return `---
apiVersion: portcullis.dev/v1alpha1
kind: ProxyPolicy
metadata: { name: guard, namespace: shop, generation: 1 }
spec:
  targetRefs: [${targets}]
  ${section}: ${section === 'frontend' ? FRONTEND : RULES}
`
}

function outcomeOf(text: string, assumesMissing = false): Translation {
  const { objects, diagnostics } = readManifests([{ file: 'case.yaml', text }])
  assert.deepEqual(diagnostics, [])
  const options = { controllerName: CONTROLLER, settings: defaultSettings(), assumesMissing }
  return translate(snapshotOf(withClasses(objects, CONTROLLER)), options)
}

/** The conditions of the policy that are not good, for all ancestors. */
function badOf({ statuses }: Translation): readonly string[] {
  const { ancestors = [] } = statuses.find(({ kind }) => kind === 'ProxyPolicy') ?? {}
  return ancestors
    .flatMap(({ conditions }) => conditions)
    .filter(({ status }) => status === 'False')
    .map(({ type, reason, message }) => `${type} ${reason}: ${message}`)
}

const GATEWAY = 'group: gateway.networking.k8s.io, kind: Gateway, name: edge'
const ROUTE = 'group: gateway.networking.k8s.io, kind: HTTPRoute, name: web'

describe('a policy whose target has no such part', () => {
  const cases: readonly (readonly [string, string, string, string?])[] = [
    [
      'a listener',
      `{ ${GATEWAY}, sectionName: htp }`,
      'Gateway shop/edge has no section `htp` (available: `http`)',
    ],
    [
      'a rule',
      `{ ${ROUTE}, sectionName: mian }`,
      'HTTPRoute shop/web has no section `mian` (available: `main`)',
    ],
    [
      'a port of a Service',
      '{ group: "", kind: Service, name: web, sectionName: hh }',
      'Service shop/web has no section `hh` (available: `80`)',
      'backend',
    ],
    [
      'a provider',
      '{ group: portcullis.dev, kind: ProxyBackend, name: ai, sectionName: two }',
      'ProxyBackend shop/ai has no section `two` (available: `one`)',
      'backend',
    ],
    [
      'a port of a Gateway',
      `{ ${GATEWAY}, port: 8080 }`,
      'no listener of Gateway shop/edge has port 8080 (available: 80)',
      'frontend',
    ],
  ]
  for (const [what, target, message, section] of cases) {
    it(`${what}: SectionNameNotFound in the status, an Event, and the same offline`, () => {
      const text = BASE + policy(target, section)
      const live = outcomeOf(text)
      const stated = [
        `Accepted SectionNameNotFound: ${message}`,
        `Attached SectionNameNotFound: ${message}`,
      ]
      assert.deepEqual(badOf(live), stated)
      const status = live.statuses.find(({ kind }) => kind === 'ProxyPolicy')
      const written = status?.ancestors?.map(({ ref, conditions }) => {
        return { ancestorRef: ref, controllerName: CONTROLLER, conditions }
      })
      const events = noticesOf('ProxyPolicy', {}, { ancestors: written }, CONTROLLER)
      assert.equal(events[0]?.type, 'Warning')
      assert.equal(events[0]?.reason, 'SectionNameNotFound')
      const said = outcomeOf(text, true).diagnostics.filter(({ code }) => code === 'PC0707')
      assert.deepEqual(
        said.map((one) => `${one.message} (${one.hint})`),
        [message],
      )
    })
  }

  it('the part that exists is attached', () => {
    for (const [target, section] of [
      [`{ ${GATEWAY}, sectionName: http }`, 'traffic'],
      [`{ ${ROUTE}, sectionName: main }`, 'traffic'],
      ['{ group: "", kind: Service, name: web, sectionName: "80" }', 'backend'],
      ['{ group: portcullis.dev, kind: ProxyBackend, name: ai, sectionName: one }', 'backend'],
      [`{ ${GATEWAY}, port: 80 }`, 'frontend'],
    ] as const) {
      assert.deepEqual(badOf(outcomeOf(BASE + policy(target, section))), [], target)
    }
  })
})

describe('a policy that guards only some of its targets', () => {
  it('is not attached as a whole, and says what is not guarded', () => {
    const wrong = ROUTE.replace('web', 'wbe')
    const outcome = outcomeOf(
      BASE + policy(`{ ${ROUTE} }, { ${wrong} }, { ${GATEWAY}, sectionName: x }`),
    )
    const message =
      'not guarded: HTTPRoute shop/wbe not found; ' +
      'Gateway shop/edge has no section `x` (available: `http`)'
    assert.deepEqual(badOf(outcome), [`Attached PartiallyAttached: ${message}`])
    const [route] = outcome.models.get('shop/edge')?.routes ?? []
    assert.equal(route?.policies.length, 1, 'the target that exists is guarded')
    const said = outcome.diagnostics.filter(({ code }) => code === 'PC0707')
    assert.deepEqual(
      said.map(({ origin }) => (origin.kind === 'object' ? origin.field : '')),
      ['spec.targetRefs[1]', 'spec.targetRefs[2]'],
    )
  })
})

describe('a route whose parent is not among the manifests', () => {
  const said = (text: string) =>
    outcomeOf(text, true)
      .diagnostics.filter(({ message }) => message.includes('is not in the manifests'))
      .map(({ severity, message, hint = '' }) => `${severity}: ${message} ${hint}`)

  it('is reported, with the name that was probably meant', () => {
    assert.deepEqual(
      said(BASE.replace('parentRefs: [{ name: edge }]', 'parentRefs: [{ name: egde }]')),
      [
        'warning: Gateway shop/egde is not in the manifests; HTTPRoute shop/web is not checked for it did you mean `shop/edge`?',
      ],
    )
    assert.deepEqual(said(BASE), [])
  })

  it('is usual if there is no Gateway at all', () => {
    const [, ...rest] = BASE.split('---')
    assert.deepEqual(said(rest.join('---')), [
      'info: Gateway shop/edge is not in the manifests; HTTPRoute shop/web is not checked for it ',
    ])
  })
})

describe('a Gateway that serves nothing', () => {
  it('is not accepted, although each of its listeners is', () => {
    const secure = BASE.replace('protocol: HTTP,', 'protocol: HTTPS,')
    const { statuses } = outcomeOf(secure)
    const { conditions = [] } = statuses.find(({ kind }) => kind === 'Gateway') ?? {}
    assert.deepEqual(
      conditions.map(({ type, status, reason, message }) => [type, status, reason, message]),
      [['Accepted', 'False', 'ListenersNotValid', 'invalid listeners: http']],
    )
  })
})

describe('everything that a rule cannot do', () => {
  it('is reported at once', () => {
    const filters = [
      '{ type: ExternalAuth, externalAuth: { protocol: GRPC } }',
      '{ type: RequestRedirect, requestRedirect: {} }',
    ]
    const text = BASE.replace(
      'rules: [{ name: main, backendRefs: [{ name: web, port: 80 }',
      `rules: [{ name: main, sessionPersistence: {}, filters: [${filters}], backendRefs: [{ name: web, port: 80, filters: [{ type: URLRewrite, urlRewrite: {} }] }`,
    )
    const { statuses } = outcomeOf(text)
    const { parents = [] } = statuses.find(({ kind }) => kind === 'HTTPRoute') ?? {}
    const accepted = parents[0]?.conditions.find(({ type }) => type === 'Accepted')
    assert.equal(
      accepted?.message,
      'spec.rules[0]: sessionPersistence is not supported; ' +
        'a redirect cannot have backendRefs; filter ExternalAuth is not supported here; ' +
        'filter URLRewrite is not supported here',
    )
  })
})
