import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Diagnostic, Origin } from '../diagnostics/diagnostic.ts'
import type { Model } from './model.ts'
import { rejectedParts } from './rejected-parts.ts'

const at = (object: string, field = ''): Origin => ({ kind: 'object', object, field })

const error = (origin: Origin, message = 'wrong'): Diagnostic => ({
  code: 'PC0101',
  severity: 'error',
  message,
  origin,
})

const policy = (object: string, further: object = {}) => ({
  state: 'valid',
  kind: 'authorization',
  section: 'traffic',
  level: 'route',
  policy: object,
  origin: at(object, 'spec.traffic.authorization'),
  value: {},
  ...further,
})

const route = (name: string, ...policies: object[]) => ({
  name,
  origin: at(`HTTPRoute default/${name}`),
  parents: [],
  hostnames: [],
  rules: [],
  policies,
})

const model = {
  gateways: [
    { name: 'gw', origin: at('Gateway default/gw'), listeners: [], policies: [] },
    { name: 'gw2', origin: at('Gateway default/gw2'), listeners: [], policies: [] },
  ],
  routes: [
    route('a', policy('ProxyPolicy default/shared')),
    route('b', policy('ProxyPolicy default/shared')),
    route('c', policy('ProxyPolicy default/shared-not')),
  ],
  tcpRoutes: [],
  backends: [],
  frontend: [],
} as unknown as Model

const named = (diagnostics: readonly Diagnostic[], of = model) =>
  rejectedParts(of, diagnostics).map(
    ({ section, name, diagnostics: own }) => `${section} ${name} ${own.length}`,
  )

describe('rejected parts', () => {
  it('an error belongs to every part that its policy is attached to', () => {
    const field = 'spec.traffic.authorization.policy.matchExpressions[0]'
    const found = named([error(at('ProxyPolicy default/shared', field))])
    assert.deepEqual(found, ['routes a 1', 'routes b 1'])
  })

  it('another field of the same object does not match, however similar its name', () => {
    const fields = ['spec.traffic.authorizations', 'spec.traffic', 'spec.backend']
    for (const field of fields) {
      assert.deepEqual(named([error(at('ProxyPolicy default/shared', field))]), [])
    }
  })

  it('an object with a similar name does not match', () => {
    assert.deepEqual(named([error(at('Gateway default/gw'))]), ['gateways gw 1'])
  })

  it('warnings reject nothing', () => {
    const warning = { ...error(at('Gateway default/gw')), severity: 'warning' } as const
    assert.deepEqual(named([warning]), [])
  })

  it('an invalid value carries its own error, once', () => {
    const said = error(at('ProxyPolicy default/x', 'spec.traffic.authorization'))
    const invalid = policy('ProxyPolicy default/x', { state: 'invalid', diagnostics: [said] })
    const own = { ...model, routes: [route('a', invalid)] } as unknown as Model
    assert.deepEqual(named([], own), ['routes a 1'])
    assert.deepEqual(named([{ ...said }], own), ['routes a 1'])
  })

  it('policies of all connections are one part', () => {
    const own = { ...model, frontend: [policy('ProxyPolicy default/f')] } as unknown as Model
    const found = named([error(at('ProxyPolicy default/f', 'spec.traffic.authorization.x'))], own)
    assert.deepEqual(found, ['frontend  1'])
  })

  it('ignore user data with such names', () => {
    const metadata = { diagnostics: [null, { severity: 'error' }], origin: { kind: 'file' } }
    const routes = [route('own', policy('own', { value: { metadata } }))]
    assert.deepEqual(rejectedParts({ ...model, routes } as unknown as Model, []), [])
  })
})
