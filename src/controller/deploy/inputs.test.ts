import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type GatewayObject, gatewayOfAccount, inputsOf, type ParametersRef } from './inputs.ts'
import { objectName } from './object-name.ts'

const metadata = { name: 'web', namespace: 'shop', uid: 'u-1' }
const REF = { group: 'portcullis.dev', kind: 'ProxyParameters', name: 'own' }
const OF_CLASS: ParametersRef = { ...REF, name: 'class', namespace: 'system' }
const known = (namespace: string, name: string) =>
  ['shop/own', 'system/class'].includes(`${namespace}/${name}`)
    ? { env: [{ name: 'FROM', value: `${namespace}/${name}` }] }
    : undefined

function gateway(spec: Partial<GatewayObject['spec']> = {}): GatewayObject {
  return { metadata, spec: { gatewayClassName: 'portcullis', ...spec } }
}

describe('deployment inputs of a Gateway', () => {
  it('class parameters precede those of the Gateway', () => {
    const inputs = inputsOf(
      gateway({ infrastructure: { parametersRef: REF } }),
      OF_CLASS,
      [80],
      known,
    )
    assert.ok('parameters' in inputs)
    assert.deepEqual(
      inputs.parameters.map(({ env }) => env?.[0]?.['value']),
      ['system/class', 'shop/own'],
    )
  })

  it('include IP addresses, labels and annotations', () => {
    const addresses = [{ value: '192.0.2.1' }, { type: 'Hostname', value: 'a.test' }, {}]
    const infrastructure = { labels: { a: 'b' }, annotations: { c: 'd' } }
    const inputs = inputsOf(gateway({ addresses, infrastructure }), undefined, [80, 443], known)
    assert.deepEqual(inputs, {
      gateway: {
        ...metadata,
        className: 'portcullis',
        ports: [80, 443],
        addresses: ['192.0.2.1'],
        ...infrastructure,
      },
      parameters: [],
    })
  })

  for (const [what, own, ofClass, message] of [
    ['another kind', { ...REF, kind: 'ConfigMap' }, undefined, /not a ConfigMap/],
    ['another group', { ...REF, group: 'x' }, undefined, /must reference a ProxyParameters/],
    [
      'one that is not there',
      { ...REF, name: 'no' },
      undefined,
      /ProxyParameters shop\/no not found/,
    ],
    [
      'one of another namespace',
      { ...REF, name: 'class', namespace: 'system' },
      undefined,
      /shop\/class/,
    ],
    ['no namespace for a class', undefined, REF, /GatewayClass portcullis.*no namespace/],
    ['one that a class lacks', undefined, { ...OF_CLASS, name: 'no' }, /system\/no/],
  ] as const) {
    it(`a reference to ${what} is invalid`, () => {
      const infrastructure = own && { infrastructure: { parametersRef: own } }
      const inputs = inputsOf(gateway(infrastructure), ofClass, [80], known)
      assert.ok('invalid' in inputs)
      assert.match(inputs.invalid, message)
    })
  }
})

describe('the Gateway of a service account', () => {
  const long = 'x'.repeat(100)
  const find = gatewayOfAccount([
    { namespace: 'shop', name: 'web' },
    { namespace: 'shop', name: long },
    { namespace: 'other', name: 'api' },
  ])

  it('is the one that it was deployed for', () => {
    assert.equal(find('shop', 'web'), 'shop/web')
    assert.equal(find('shop', objectName(long)), `shop/${long}`)
  })

  it('is none in another namespace or for an unknown name', () => {
    assert.equal(find('other', 'web'), undefined)
    assert.equal(find('shop', 'api'), undefined)
    assert.equal(find('shop', 'default'), undefined)
  })
})
