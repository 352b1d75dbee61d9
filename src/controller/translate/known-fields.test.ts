import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import type * as z from 'zod'
import { schemasIn } from '../../../test/schema-paths.ts'
import { Reach } from '../../reach/reach.ts'
import { defaultSettings } from '../../sources/file/sections/config.ts'
import type { KubeObject } from '../cluster/object.ts'
import { snapshotOf } from '../cluster/snapshot.ts'
import { type GatewayObject, inputsOf, type ParametersRef } from '../deploy/inputs.ts'
import type { ProxyParameters } from '../deploy/parameters.ts'
import { renderGateway } from '../deploy/render.ts'
import { readManifests } from '../manifests.ts'
import { backendTlsPolicy, referenceGrant } from '../resources/cluster-objects.ts'
import { xBackend } from '../resources/external.ts'
import { gateway, gatewayClass, listenerSet } from '../resources/gateway.ts'
import { inferencePool } from '../resources/inference.ts'
import { proxyBackend, proxyModel, proxyParameters, proxyPolicy } from '../resources/proxy.ts'
import { grpcRoute, httpRoute, streamRoute } from '../resources/routes.ts'
import { translate } from './translate.ts'
import { Translator } from './translator.ts'
import { fieldOf } from './view.ts'

/*
 * A field that the controller reads and does not use would be ignored quietly, although it may
 * restrict what is allowed. So for each field of each schema there must be a value of its type that
 * changes what proxies get, what is deployed or what a status says. Unknown fields are rejected
 * (unknown-fields.test.ts), and the definitions of the Gateway API have no others (test/cluster).
 */

type Path = readonly PropertyKey[]

const CONTROLLER = 'portcullis.dev/controller'

const SCHEMAS: Readonly<Record<string, z.ZodType>> = {
  GatewayClass: gatewayClass,
  ProxyParameters: proxyParameters,
  Gateway: gateway,
  ListenerSet: listenerSet,
  HTTPRoute: httpRoute,
  GRPCRoute: grpcRoute,
  TLSRoute: streamRoute,
  TCPRoute: streamRoute,
  ReferenceGrant: referenceGrant,
  BackendTLSPolicy: backendTlsPolicy,
  ProxyPolicy: proxyPolicy,
  ProxyBackend: proxyBackend,
  ProxyModel: proxyModel,
  XBackend: xBackend,
  InferencePool: inferencePool,
}

/** Fields that have no effect, with the reason. */
const WITHOUT_EFFECT: Readonly<Record<string, string>> = {
  'GatewayClass spec.description': 'it is for people',
  'HTTPRoute spec.rules[].filters[].externalAuth': 'a filter of this type is rejected',
  'HTTPRoute spec.rules[].filters[].extensionRef': 'a filter of this type is rejected',
  'TLSRoute spec.rules[].name': 'policies cannot target the rules of these routes',
  'BackendTLSPolicy spec.validation.subjectAltNames[].type':
    'only the name of this type can be set',
  'XBackend spec.port.name': 'nothing refers to it',
}

/** Values of all the types that fields have. */
const VALUES: readonly unknown[] = [
  ...['x', 'x.example.com', '/x', '5s', 'GET', 'HTTP', 'System', 'RegularExpression'],
  ...[7, 50, 301, true, false],
  ...[['x'], ['GET'], [503], { x: 'y' }],
]
/** Values of fields that have no type of their own. */
const OVERLAY = { metadata: { labels: { x: 'y' } } }
const PARAMETERS: Readonly<Record<string, unknown>> = {
  workload: { kind: 'Deployment' },
  image: { tag: 'x' },
  env: [{ name: 'X', value: 'y' }],
  resources: { limits: { cpu: '1' } },
  logging: { level: 'debug' },
  rawConfig: { config: { workers: 1 } },
  shutdown: { min: 3, max: 4 },
  istio: { enabled: true },
  modelCatalog: { sources: [{ configMap: { name: 'x' } }] },
}

const EXAMPLES = examples()

/** What an object of the cluster leads to, as text. */
class Outcomes {
  readonly #translator = new Translator({
    controllerName: CONTROLLER,
    settings: defaultSettings(),
  })

  of(objects: readonly KubeObject[]): string {
    const { models, deployed, statuses } = this.#translator.translate(snapshotOf(objects))
    const find = (kind: string, name: string, namespace?: string) =>
      objects.find(({ kind: other, metadata }) => {
        return other === kind && metadata.name === name && metadata.namespace === namespace
      })
    const rendered = [...deployed].map(([key, model]) => {
      const [namespace = '', name = ''] = key.split('/')
      const parent = find('Gateway', name, namespace) as unknown as GatewayObject
      const { spec } = find('GatewayClass', parent.spec.gatewayClassName) ?? {}
      const { parametersRef } = spec as { readonly parametersRef?: ParametersRef }
      const inputs = inputsOf(
        parent,
        parametersRef,
        [...new Reach(model).ports],
        (where, called) => {
          return find('ProxyParameters', called, where)?.spec as ProxyParameters | undefined
        },
      )
      return 'invalid' in inputs
        ? inputs
        : renderGateway(inputs.gateway, inputs.parameters, {
            image: { registry: 'r', repository: 'p', tag: 't' },
            xdsAddress: 'https://x:1',
            sessionKey: 'k',
          })
    })
    const outcome = [[...models], rendered, statuses(), this.#translator.diagnostics()]
    return JSON.stringify(outcome, (key, value: unknown) => {
      if (value instanceof Map || value instanceof Set) return [...value]
      // The place in the file is no effect.
      return key === 'origin' ? undefined : value
    })
  }
}

describe('fields that the controller knows', () => {
  const outcomes = new Outcomes()
  const before = outcomes.of(EXAMPLES)
  const effective = new Map<z.core.$ZodType, Set<string>>()
  const names = new Map<z.core.$ZodType, string>()

  it('the examples are valid, except for filters that are rejected', () => {
    const text = EXAMPLES.map((example) => JSON.stringify(example)).join('\n---\n')
    const { objects } = readManifests([{ file: 'examples.yaml', text }])
    const options = { controllerName: CONTROLLER, settings: defaultSettings() }
    const { diagnostics } = translate(snapshotOf(objects), options)
    const errors = diagnostics.filter(({ severity }) => severity === 'error')
    assert.deepEqual(
      errors.map(({ message }) => message),
      ['filter ExternalAuth is not supported here', 'filter ExtensionRef is not supported here'],
    )
  })

  for (const [kind, schema] of Object.entries(SCHEMAS)) {
    it(`${kind}: each has an effect, or a condition that names it`, () => {
      for (const { path, schema: inner } of schemasIn(schema)) {
        if (path[0] !== 'spec') continue
        const shape = shapeOf(inner)
        const fields = effective.get(inner) ?? new Set<string>()
        effective.set(inner, fields)
        if (!names.has(inner)) names.set(inner, `${kind} ${generic(path)}`)
        for (const example of EXAMPLES.filter((other) => other.kind === kind)) {
          for (const at of placesIn(example, path)) {
            for (const [field, type] of Object.entries(shape)) {
              if (fields.has(field) || !isLeaf(type)) continue
              const isEffective = valuesOf(kind, field, type).some((value) => {
                const changed = withValue(example, [...at, field], value) as KubeObject
                if (!schema.safeParse(changed).success) return false
                return (
                  outcomes.of(EXAMPLES.map((other) => (other === example ? changed : other))) !==
                  before
                )
              })
              if (isEffective) fields.add(field)
            }
          }
        }
      }
      const ofKind = [...effective].filter(([inner]) => names.get(inner)?.startsWith(`${kind} `))
      const idle = ofKind.flatMap(([inner, fields]) =>
        Object.entries(shapeOf(inner)).flatMap(([field, type]) => {
          const title = `${names.get(inner)}.${field}`
          return isLeaf(type) && !fields.has(field) && !(title in WITHOUT_EFFECT) ? [title] : []
        }),
      )
      assert.deepEqual(idle, [])
    })
  }
})

function examples(): readonly KubeObject[] {
  const read = (file: string) => {
    const text = readFileSync(join(import.meta.dirname, file), 'utf8')
    const { objects, diagnostics } = readManifests([{ file, text }])
    assert.deepEqual(diagnostics, [])
    return objects
  }
  const certificates = read('cases/frontend-tls.yaml').filter(({ kind }) =>
    ['Secret', 'ConfigMap'].includes(kind),
  )
  return [
    ...certificates,
    ...read('examples/every-field.yaml'),
    ...read('examples/further-fields.yaml'),
  ]
}

interface Definition {
  readonly type: string
  readonly shape?: Readonly<Record<string, z.core.$ZodType>>
  readonly entries?: Readonly<Record<string, string>>
  readonly values?: readonly unknown[]
  readonly innerType?: z.core.$ZodType
  readonly element?: z.core.$ZodType
  readonly in?: z.core.$ZodType
}

function definitionOf(schema: z.core.$ZodType): Definition {
  const definition = (schema as z.ZodType)._zod.def as Definition
  const { innerType, in: input } = definition
  return innerType !== undefined || input !== undefined
    ? definitionOf((innerType ?? input) as z.core.$ZodType)
    : definition
}

function shapeOf(schema: z.core.$ZodType): Readonly<Record<string, z.core.$ZodType>> {
  return definitionOf(schema).shape ?? {}
}

/** What is neither an object nor a list of objects, whose fields are looked at; not the only value. */
function isLeaf(schema: z.core.$ZodType): boolean {
  const { type, element } = definitionOf(schema)
  if (type === 'array') return element === undefined || isLeaf(element)
  return type !== 'object' && type !== 'literal'
}

function valuesOf(kind: string, field: string, schema: z.core.$ZodType): readonly unknown[] {
  if (kind === 'ProxyParameters') return [PARAMETERS[field] ?? OVERLAY]
  const { entries } = definitionOf(schema)
  return entries === undefined ? VALUES : Object.values(entries)
}

/** The objects of an example at a path of its schema. */
function* placesIn(value: unknown, path: Path, at: Path = []): Generator<Path> {
  if (typeof value !== 'object' || value === null) return
  const [step, ...rest] = path
  if (step === undefined) yield at
  else if (typeof step === 'number' && Array.isArray(value)) {
    for (const [index, inner] of value.entries()) yield* placesIn(inner, rest, [...at, index])
  } else {
    yield* placesIn((value as Readonly<Record<PropertyKey, unknown>>)[step], rest, [...at, step])
  }
}

function withValue(inside: unknown, [step, ...rest]: Path, value: unknown): unknown {
  if (step === undefined) return value
  if (Array.isArray(inside)) {
    return inside.map((inner, index) => (index === step ? withValue(inner, rest, value) : inner))
  }
  const { [step]: inner } = inside as Readonly<Record<PropertyKey, unknown>>
  return { ...(inside as object), [step]: withValue(inner, rest, value) }
}

/** `spec.rules[].matches` */
function generic(path: Path): string {
  return fieldOf(path).replaceAll(/\[\d+\]/g, '[]')
}
