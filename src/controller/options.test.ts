import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { OptionError, readOptions } from './options.ts'

const TEMPLATE = join(import.meta.dirname, '../../charts/portcullis/templates/_environment.tpl')

describe('the options of the controller', () => {
  it('reads every variable that the chart sets', () => {
    const names = new Set(readFileSync(TEMPLATE, 'utf8').match(/(?:PORTCULLIS|POD)_[A-Z_]+/g))
    const read = new Set<string>()
    readOptions(
      new Proxy(
        {},
        {
          get: (_, name) => {
            read.add(String(name))
            return undefined
          },
        },
      ),
    )
    assert.deepEqual(
      [...names].filter((name) => !read.has(name)),
      [],
    )
  })

  it('has the ports and names of the chart by default', () => {
    const options = readOptions({})
    assert.deepEqual(
      [options.xds.port, options.healthPort, options.metricsPort, options.xds.mode],
      [9978, 9093, 9092, 'tls'],
    )
    assert.equal(options.gatewayNamespaces, undefined)
  })

  it('reads what the chart writes as JSON', () => {
    const options = readOptions({
      PORTCULLIS_GATEWAY_NAMESPACES: '["a"]',
      PORTCULLIS_DISCOVERY_NAMESPACE_SELECTORS: '[{"matchLabels":{"team":"a"}}]',
      PORTCULLIS_GATEWAY_CLASS_PARAMETERS_REFS: '{"x":{"name":"p","namespace":"n"}}',
    })
    assert.deepEqual(options.gatewayNamespaces, ['a'])
    assert.deepEqual(options.discoverySelectors[0]?.matchLabels, { team: 'a' })
    assert.deepEqual(options.parametersRefs['x'], {
      group: 'portcullis.dev',
      kind: 'ProxyParameters',
      name: 'p',
      namespace: 'n',
    })
  })

  for (const [name, value] of [
    ['PORTCULLIS_LOG_LEVEL', 'loud'],
    ['PORTCULLIS_XDS_MODE', 'mtls'],
    ['PORTCULLIS_HEALTH_PORT', 'x'],
    ['PORTCULLIS_GATEWAY_NAMESPACES', '{'],
    ['PORTCULLIS_DISCOVERY_NAMESPACE_SELECTORS', '[{"matchLabel":{}}]'],
    ['PORTCULLIS_MODELS_ENABLED', 'yes'],
  ] as const) {
    it(`rejects ${name}=${value} and names it`, () => {
      assert.throws(
        () => readOptions({ [name]: value }),
        (error) => error instanceof OptionError && error.message.startsWith(name),
      )
    })
  }
})
