import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { loadText } from '../../sources/file/load.ts'
import { lint } from './lint.ts'

const GATEWAYS = `gateways:
  default:
    port: 8080
    listeners:
    - { name: apps, hostname: apps.test }
    - { name: admin, hostname: admin.test }
  other: { port: 8081 }
`
const ROUTES = `routes:
- { name: shop, gateways: [default/apps, other], backends: [{ host: 'shop:80' }] }
`

function codes(text: string): readonly string[] {
  const { value, diagnostics } = loadText(text, 'a.yaml', { environment: {} }).result
  assert.deepEqual(diagnostics, [])
  assert.ok(value)
  return lint(value)
    .filter(({ diagnostic: { code } }) => code === 'AZ037' || code === 'AZ038')
    .map(({ diagnostic: { code, message } }) => `${code} ${/`[^`]+`/.exec(message)?.[0]}`)
}

describe('lint about the Admin UI on gateways', () => {
  for (const [gateways, expected] of [
    ['default/admin', ['AZ037 `default/admin`']],
    ['default/apps', ['AZ037 `default/apps`', 'AZ038 `shop`']],
    [
      '[default, other]',
      [
        'AZ037 `default/apps`',
        'AZ038 `shop`',
        'AZ037 `default/admin`',
        'AZ037 `other/default`',
        'AZ038 `shop`',
      ],
    ],
  ] as const) {
    it(`on ${gateways}`, () => {
      assert.deepEqual(codes(`${GATEWAYS}${ROUTES}ui: { gateways: ${gateways} }\n`), expected)
    })
  }

  it('says nothing without `ui`', () => assert.deepEqual(codes(GATEWAYS + ROUTES), []))
})
