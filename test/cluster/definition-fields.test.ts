import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { parseAllDocuments } from 'yaml'
import type * as z from 'zod'
import { backendTlsPolicy, referenceGrant } from '../../src/controller/resources/cluster-objects.ts'
import { gateway, gatewayClass, listenerSet } from '../../src/controller/resources/gateway.ts'
import { grpcRoute, httpRoute, streamRoute } from '../../src/controller/resources/routes.ts'
import { schemasIn } from '../schema-paths.ts'
import { gatewayApiDefinitions } from './gateway-api.ts'
import { missing } from './harness.ts'

const reason = missing()
const options = reason === undefined ? {} : { skip: reason }

const SCHEMAS: Readonly<Record<string, z.ZodType>> = {
  GatewayClass: gatewayClass,
  Gateway: gateway,
  ListenerSet: listenerSet,
  HTTPRoute: httpRoute,
  GRPCRoute: grpcRoute,
  TLSRoute: streamRoute,
  TCPRoute: streamRoute,
  ReferenceGrant: referenceGrant,
  BackendTLSPolicy: backendTlsPolicy,
}

interface Structural {
  readonly properties?: Readonly<Record<string, Structural>>
  readonly items?: Structural
}

interface Definition {
  readonly kind: string
  readonly spec: {
    readonly names: { readonly kind: string }
    readonly versions: readonly {
      readonly schema: { readonly openAPIV3Schema: Structural }
    }[]
  }
}

/** The paths of all fields: `spec.rules[].matches`. */
function* fieldsIn({ properties = {}, items }: Structural, path: string): Generator<string> {
  if (items !== undefined) yield* fieldsIn(items, `${path}[]`)
  for (const [key, inner] of Object.entries(properties)) {
    const at = `${path}.${key}`
    yield at
    yield* fieldsIn(inner, at)
  }
}

/** Unknown fields are rejected, so a user of one of these could not use the Gateway API. */
describe('the definitions of the Gateway API', options, () => {
  for (const channel of ['standard', 'experimental'] as const) {
    it(`${channel}: the controller knows every field`, () => {
      const kinds = new Set<string>()
      for (const file of gatewayApiDefinitions(channel)) {
        const documents = parseAllDocuments(readFileSync(file, 'utf8'))
        for (const definition of documents.map((one) => one.toJS() as Definition)) {
          const { kind } = definition.spec.names
          const schema = SCHEMAS[kind]
          if (schema === undefined) continue
          kinds.add(kind)
          const known = [...schemasIn(schema)].map(({ path, fields }) => {
            const at = path.map((step) => (typeof step === 'number' ? '[]' : `.${String(step)}`))
            return { at: at.join('').slice(1), fields }
          })
          for (const { schema: served } of definition.spec.versions) {
            const { spec } = served.openAPIV3Schema.properties ?? {}
            for (const field of spec === undefined ? [] : fieldsIn(spec, 'spec')) {
              const outer = field.replace(/\.[^.]+$/, '')
              // What is read as a whole has no schema of its own.
              const own = known.find(({ at }) => at === outer)
              if (own === undefined) continue
              assert.ok(own.fields.includes(field.slice(outer.length + 1)), `${kind} ${field}`)
            }
          }
        }
      }
      const optional = channel === 'standard' ? ['TCPRoute', 'TLSRoute', 'ListenerSet'] : []
      for (const kind of Object.keys(SCHEMAS)) {
        assert.ok(kinds.has(kind) || optional.includes(kind), `no definition of ${kind}`)
      }
    })
  }
})
