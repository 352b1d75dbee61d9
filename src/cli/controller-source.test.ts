import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { loadText } from '../sources/file/load.ts'
import { controllerOf, onlySettings } from './controller-source.ts'
import { UsageError } from './define.ts'

describe('the address of the controller', () => {
  const ADDRESS = { PORTCULLIS_XDS_ADDRESS: 'https://controller.system.svc:9978' }

  it('is unset by default', () => {
    assert.equal(controllerOf(undefined, {}), undefined)
    assert.equal(controllerOf(undefined, { PORTCULLIS_XDS_ADDRESS: '' }), undefined)
  })

  it('is read from the environment unless the command line sets it', () => {
    const { address } = controllerOf(undefined, ADDRESS) ?? {}
    assert.equal(address, 'https://controller.system.svc:9978')
    assert.equal(controllerOf('http://[::1]:9978', ADDRESS)?.address, 'http://[::1]:9978')
  })

  it('includes the files of the environment and the pod name', () => {
    const environment = {
      ...ADDRESS,
      PORTCULLIS_XDS_CA: '/ca',
      PORTCULLIS_XDS_TOKEN: '/token',
      PORTCULLIS_XDS_STATE: '',
      POD_NAME: 'pod-1',
    }
    const { address: _, ...rest } = controllerOf(undefined, environment) ?? {}
    assert.deepEqual(rest, {
      caFile: '/ca',
      tokenFile: '/token',
      stateFile: undefined,
      node: 'pod-1',
    })
  })

  for (const address of ['controller:9978', 'ftp://a', 'http://a/b', 'http://u@a', 'a', '']) {
    it(`cannot be \`${address}\``, () => {
      assert.throws(() => controllerOf(address, {}), UsageError)
    })
  }
})

describe('a file used together with a controller', () => {
  const sections = (text: string) => {
    const { value } = loadText(text, 'x.yaml', { environment: {} }).result
    assert.ok(value)
    return onlySettings('x.yaml', value).map(
      ({ origin }) => origin.kind === 'object' && origin.field,
    )
  }

  it('may contain settings', () => assert.deepEqual(sections('config: { workers: 2 }'), []))

  for (const [text, section] of [
    ['gateways: { default: { port: 80 } }', 'gateways'],
    ['backends: [{ name: a, host: a:1 }]', 'backends'],
    ['frontendPolicies: { networkAuthorization: { rules: [{ deny: "true" }] } }', 'frontend'],
  ] as const) {
    it(`may not have ${section}`, () => assert.deepEqual(sections(text), [section]))
  }
})
