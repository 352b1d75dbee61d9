// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the text names a variable

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { locate } from '../../diagnostics/places.ts'
import { loadText } from './load.ts'

/** Routes that differ only in their names, with options for errors that all of them share. */
function file({ gateway = 'default', policy = 'authorization', action = 'allow', ref = 'b' }) {
  const route = (n: number) => `- name: route-${'x'.repeat(n)}
  gateways: [${gateway}]
  matches:
  - path: {pathPrefix: /${n}}
  policies:
    ${policy}: # why
      rules:

      - ${action}: request.path != ''
  backends:
  - backend: ${ref}
`
  const routes = Array.from({ length: 40 }, (_, n) => route(n)).join('')
  return `gateways: {default: {port: 8080}}\nroutes:\n${routes}backends:\n- name: b\n  host: a:1\n`
}

describe('identical routes', () => {
  for (const [title, what] of [
    ['in order', {}],
    ['of a gateway that is not there', { gateway: 'defualt' }],
    ['with a policy that nobody knows', { policy: 'authorisation' }],
    ['with an action that nobody knows', { action: 'allows' }],
    ['with a variable', { ref: '${B:-b}' }],
    ['with a backend that is not there', { ref: 'c' }],
    ['with a weight', { ref: 'b\n    weight: 0' }],
  ] as const) {
    it(`${title} are understood one by one as the whole reader does`, () => {
      const text = file(what)
      // The quick reader does not support anchors.
      const [quick, whole] = [text, text.replace('host: a:1', 'host: &x a:1')].map((text) =>
        loadText(text, 'gateway.yaml', { environment: {} }),
      )
      assert.deepEqual(quick?.result.diagnostics, whole?.result.diagnostics)
      assert.deepEqual(quick?.result.value?.routes, whole?.result.value?.routes)
      const lines = quick?.result.value?.routes.map(({ origin }) => {
        const place = locate(quick.places, origin)
        return place.kind === 'file' && place.line
      })
      assert.equal(new Set(lines).size, 40)
    })
  }
})
