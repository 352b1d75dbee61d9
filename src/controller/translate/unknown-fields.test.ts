import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import type * as z from 'zod'
import { schemasIn } from '../../../test/schema-paths.ts'
import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Model } from '../../model/model.ts'
import { defaultSettings } from '../../sources/file/sections/config.ts'
import type { KubeObject } from '../cluster/object.ts'
import { snapshotOf } from '../cluster/snapshot.ts'
import { readManifests } from '../manifests.ts'
import { backendTlsPolicy, referenceGrant } from '../resources/cluster-objects.ts'
import { xBackend } from '../resources/external.ts'
import { gateway, gatewayClass, listenerSet } from '../resources/gateway.ts'
import { inferencePool } from '../resources/inference.ts'
import { proxyBackend, proxyModel, proxyParameters, proxyPolicy } from '../resources/proxy.ts'
import { grpcRoute, httpRoute, streamRoute } from '../resources/routes.ts'
import { Translator } from './translator.ts'
import { fieldOf } from './view.ts'

/*
 * A definition that is newer than the controller has fields that the controller does not know, and
 * such a field may restrict what is allowed. So an unknown field is reported with its path, and
 * what it belongs to fails closed. The objects of every-field.yaml set all fields that contain
 * others; each of these gets an unknown one here.
 */

type Path = readonly PropertyKey[]

interface Kind {
  readonly schema: z.ZodType
  /** Whether anything is served for which the object is needed, or without what it demands. */
  readonly isOpen: (outcome: Outcome, object: string, path: Path) => boolean
  /** What the examples need not contain: rejected as a whole, or the same as another part. */
  readonly without?: readonly string[]
}

const KINDS: Readonly<Record<string, Kind>> = {
  GatewayClass: { schema: gatewayClass, isOpen: isDeployed },
  ProxyParameters: { schema: proxyParameters, isOpen: isDeployed },
  Gateway: { schema: gateway, isOpen: isListening },
  ListenerSet: { schema: listenerSet, isOpen: isListening },
  HTTPRoute: { schema: httpRoute, isOpen: isRouted },
  GRPCRoute: { schema: grpcRoute, isOpen: isRouted },
  TLSRoute: { schema: streamRoute, isOpen: isRouted },
  TCPRoute: { schema: streamRoute, isOpen: isRouted },
  ReferenceGrant: {
    schema: referenceGrant,
    isOpen: ({ model }) => model.backends.some(({ name }) => name === 'Service/others/other/80'),
  },
  BackendTLSPolicy: { schema: backendTlsPolicy, isOpen: isUnguarded },
  ProxyPolicy: { schema: proxyPolicy, isOpen: isUnguarded },
  ProxyBackend: {
    schema: proxyBackend,
    isOpen: isBackend,
    without: ['spec.mcp.targets[].selector', 'spec.ai.'],
  },
  ProxyModel: { schema: proxyModel, isOpen: isOffered },
  XBackend: { schema: xBackend, isOpen: isBackend },
  InferencePool: { schema: inferencePool, isOpen: isBackend },
}

const EXAMPLES = examples()

describe('fields that the controller does not know', () => {
  it('the examples are valid, and served', () => {
    const outcome = translated(EXAMPLES)
    assert.deepEqual(outcome.errors, [])
    for (const one of EXAMPLES) {
      const title = titleOf(one)
      assert.equal(KINDS[one.kind]?.isOpen(outcome, title, []) ?? true, true, title)
    }
  })

  it('no schema ignores fields, and an example has an object for each', () => {
    const covered = new Set<unknown>()
    const all = Object.entries(KINDS).flatMap(([kind, { schema, without = [] }]) => {
      const own = EXAMPLES.filter((one) => one.kind === kind)
      const written = new Set(
        own.flatMap(({ spec }) => [...objectsIn(spec, ['spec'])]).map(generic),
      )
      return [...schemasIn(schema)].flatMap((one) => {
        const at = generic(one.path)
        if (written.has(at)) covered.add(one.schema)
        if (without.some((other) => at.startsWith(other))) covered.add(one.schema)
        return at.startsWith('spec') ? [{ ...one, at: `${kind} ${at}` }] : []
      })
    })
    for (const { at, schema, isStrict } of all) {
      assert.equal(isStrict, true, `${at} ignores unknown fields`)
      assert.ok(covered.has(schema), `no example has ${at}`)
    }
  })

  for (const [kind, { schema, isOpen }] of Object.entries(KINDS)) {
    const own = EXAMPLES.filter((one) => one.kind === kind)

    it(`${kind}: each is named in the status, and fails closed`, () => {
      for (const one of own) {
        for (const path of objectsIn(one.spec, ['spec'])) {
          const changed = { ...one, spec: withField(one.spec, path.slice(1)) }
          const outcome = translated(EXAMPLES.map((other) => (other === one ? changed : other)))
          const at = `${titleOf(one)} ${fieldOf(path)}`
          if (isSchemaFree(schema, path)) continue
          assert.match(outcome.saidOf(one), new RegExp(`${FIELD}`), `${at} is not reported`)
          const shown = fieldOf(path).replace(/^spec\.rules\[\d+\]\.?/, '')
          assert.ok(outcome.saidOf(one).includes(shown), `${at}: ${outcome.saidOf(one)}`)
          assert.equal(isOpen(outcome, titleOf(one), path), false, `${at} fails open`)
        }
      }
    })
  }

  it('filters of a listener close its port, and a routability is not deployed', () => {
    const web = EXAMPLES.find(({ kind }) => kind === 'Gateway')
    assert.ok(web)
    const spec = web.spec as { readonly listeners: readonly { readonly name: string }[] }
    const outcomeWith = (change: object) => {
      const changed = { ...web, spec: { ...spec, ...change } }
      return translated(EXAMPLES.map((one) => (one === web ? changed : one)))
    }
    const filters = { requests: [{ type: 'ExternalAuth', externalAuth: { protocol: 'GRPC' } }] }
    const guarded = outcomeWith({
      listeners: spec.listeners.map((one) => (one.name === 'http' ? { ...one, filters } : one)),
    })
    const open = guarded.model.gateways.flatMap(({ listeners }) => listeners.map((one) => one.name))
    assert.deepEqual(open, ['secure', 'tls', 'tcp', 'apps/more/further'])
    assert.match(guarded.saidOf(web), /Accepted=False spec\.listeners\[1\]\.filters: unknown field/)
    const internal = outcomeWith({ addresses: [{ value: '10.0.0.1', routability: 'Cluster' }] })
    assert.equal(internal.isDeployed, false)
    assert.match(internal.saidOf(web), /spec\.addresses\[0\]\.routability: unknown field/)
  })

  it('a value of another type is named in the status, whatever it is', () => {
    const outside = EXAMPLES.find(({ kind }) => kind === 'XBackend')
    assert.ok(outside)
    for (const value of [null, 'x', 1, [], {}]) {
      for (const spec of [value, { ...(outside.spec as object), port: value }]) {
        const changed = { ...outside, spec }
        const outcome = translated(EXAMPLES.map((one) => (one === outside ? changed : one)))
        assert.match(outcome.saidOf(changed), /Accepted=False/, JSON.stringify(spec))
      }
    }
  })

  it('what a definition requires may be gone in a newer one', () => {
    const outside = EXAMPLES.find(({ kind }) => kind === 'XBackend')
    assert.ok(outside)
    const spec = { type: 'EndpointSelector', port: { number: 80 }, selector: { matchLabels: {} } }
    const changed = { ...outside, spec }
    const outcome = translated(EXAMPLES.map((one) => (one === outside ? changed : one)))
    assert.match(outcome.saidOf(outside), /Accepted=False.*spec\.selector: unknown field/)
    const route = EXAMPLES.find(({ metadata }) => metadata.name === 'backends')
    assert.ok(route)
    assert.match(outcome.saidOf(route), /XBackend apps\/outside cannot be read: .*`selector`/)
  })
})

const FIELD = 'fieldOfTheFuture'
const CONTROLLER = 'portcullis.dev/controller'

function examples(): readonly KubeObject[] {
  const read = (file: string) => {
    const text = readFileSync(join(import.meta.dirname, file), 'utf8')
    return readManifests([{ file, text }]).objects
  }
  const certificates = read('cases/frontend-tls.yaml').filter(({ kind }) =>
    ['Secret', 'ConfigMap'].includes(kind),
  )
  return [...certificates, ...read('examples/every-field.yaml')]
}

interface Outcome {
  readonly model: Model
  readonly isDeployed: boolean
  readonly errors: readonly string[]
  /** All bad conditions of an object; the diagnostics if it has no status. */
  readonly saidOf: (object: KubeObject) => string
}

function translated(objects: readonly KubeObject[]): Outcome {
  const translator = new Translator({ controllerName: CONTROLLER, settings: defaultSettings() })
  const { models, deployed, statuses } = translator.translate(snapshotOf(objects))
  const all = statuses()
  const diagnostics = translator.diagnostics().filter(({ severity }) => severity === 'error')
  const model = models.get('apps/web')
  assert.ok(model, 'proxies get a configuration')
  return {
    model,
    isDeployed: deployed.has('apps/web'),
    errors: diagnostics.map(({ origin, message }) => `${originText(origin)}: ${message}`),
    saidOf: (object) => {
      const { kind, metadata } = object
      const status = all.find((one) => one.kind === kind && one.name === metadata.name)
      const conditions = [
        ...(status?.conditions ?? []),
        ...(status?.listeners ?? []).flatMap((one) => one.conditions),
        ...(status?.parents ?? []).flatMap((one) => one.conditions),
        ...(status?.ancestors ?? []).flatMap((one) => one.conditions),
      ]
      const bad = conditions.filter(({ type, status: is }) =>
        type === 'PartiallyInvalid' ? is === 'True' : is === 'False',
      )
      const stated = bad.map(({ type, status: is, message }) => `${type}=${is} ${message}`)
      if (kind === 'ProxyParameters')
        return all
          .flatMap((one) => one.conditions ?? [])
          .map(({ message }) => message)
          .join('\n')
      if (kind !== 'ReferenceGrant') return stated.join('\n')
      const own = diagnostics.filter(({ origin }) => originText(origin) === titleOf(object))
      return own
        .map(({ origin, message }) => `${origin.kind === 'object' ? origin.field : ''} ${message}`)
        .join('\n')
    },
  }
}

function isDeployed({ isDeployed: is }: Outcome): boolean {
  return is
}

function isListening({ model, isDeployed: is }: Outcome, object: string, path: Path): boolean {
  if (path[1] === 'addresses' || path[1] === 'infrastructure') return is
  const listeners = model.gateways.flatMap((one) => one.listeners)
  return listeners.some(({ origin }) => {
    const isOwn = originText(origin) === object && origin.kind === 'object'
    const at = fieldOf(path.slice(0, 3))
    return isOwn && (path[1] !== 'listeners' || path.length < 3 || origin.field === at)
  })
}

function isRouted({ model }: Outcome, object: string): boolean {
  const isOwn = ({ origin }: Pick<Diagnostic, 'origin'>) => originText(origin) === object
  const actions = [
    ...model.routes.filter(isOwn).flatMap(({ rules }) => rules.map(({ action }) => action)),
    ...model.tcpRoutes.filter(isOwn).map(({ action }) => action),
  ]
  assert.ok(actions.length > 0, `${object} is gone: other routes would get its requests`)
  return actions.some(({ kind }) => kind === 'forward')
}

/** A policy that is not read as a whole must deny wherever it is attached. */
function isUnguarded({ model }: Outcome, object: string): boolean {
  const all = [
    ...model.gateways.flatMap((one) => one.policies),
    ...model.routes.flatMap((one) => one.policies),
    ...model.backends.flatMap((one) => one.policies),
  ].filter(({ origin }) => originText(origin) === object)
  assert.ok(all.length > 0, `${object} is not attached`)
  return all.every(({ state }) => state === 'valid')
}

function isBackend({ model }: Outcome, object: string): boolean {
  return model.backends.some(
    ({ kind, origin }) => originText(origin) === object && kind !== 'invalid',
  )
}

function isOffered({ model }: Outcome, object: string): boolean {
  const name = object.split('/')[1]
  const ai = model.backends.flatMap((one) => (one.kind === 'ai' ? [one] : []))
  const providers = ai.flatMap(({ groups }) => groups.flatMap((group) => group.providers))
  const own = providers.filter(({ origin }) => originText(origin) === object)
  const isRejected = own.some(({ policies }) => policies.some(({ state }) => state === 'invalid'))
  const isVirtual = ai.some(({ virtualModels = [] }) =>
    virtualModels.some((one) => one.name === name),
  )
  return isVirtual || (own.length > 0 && !isRejected)
}

function originText(origin: Diagnostic['origin']): string {
  return origin.kind === 'object' ? origin.object : ''
}

function titleOf({ kind, metadata: { namespace, name } }: KubeObject): string {
  return `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`
}

/** The paths of all objects in a value that are not maps by names that users choose. */
function* objectsIn(value: unknown, path: Path): Generator<Path> {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) yield path
  for (const [key, inner] of Object.entries(value)) {
    yield* objectsIn(inner, [...path, Array.isArray(value) ? Number(key) : key])
  }
}

/** `spec.rules[].matches` */
function generic(path: Path): string {
  return fieldOf(path).replaceAll(/\[\d+\]/g, '[]')
}

function withField(value: unknown, [step, ...rest]: Path): unknown {
  if (step === undefined) return { ...(value as object), [FIELD]: { a: 1 } }
  if (Array.isArray(value)) {
    return value.map((one, index) => (index === step ? withField(one, rest) : one))
  }
  const { [step]: inner } = value as Readonly<Record<PropertyKey, unknown>>
  return { ...(value as object), [step]: withField(inner, rest) }
}

/** Whether users choose the keys of the object, or another schema reads it. */
function isSchemaFree(schema: z.ZodType, path: Path): boolean {
  return ![...schemasIn(schema)].some((one) => generic(one.path) === generic(path))
}
