import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { describedOnce, withoutDescriptions } from './described-once.ts'
import { proxyBackend } from './proxy-backend.ts'
import { list, object, type Structural, text } from './structural.ts'

const long = object('A policy.', {
  name: text(`What it is called. ${'It is a name. '.repeat(40)}`),
  path: text('Where it is.'),
})
const twice = object('All.', {
  deep: object('Below.', { again: { ...long, description: 'The same, for a part.' } }),
  entries: list('Several.', long, 1, 4),
  first: long,
})

describe('describedOnce', () => {
  it('describes a part nearest to the root, and references that place elsewhere', () => {
    const { deep, entries, first } = describedOnce(twice, 'spec').properties as Readonly<
      Record<string, Structural>
    >
    assert.deepEqual(first, long)
    const again = deep?.properties?.['again']
    assert.equal(again?.description, 'The same, for a part. Fields as at spec.first.')
    assert.equal(again?.properties?.['name']?.description, undefined)
    assert.equal(entries?.items?.description, 'A policy. Fields as at spec.first.')
  })

  it('keeps every check of a ProxyBackend', () => {
    const { spec } = proxyBackend
    assert.deepEqual(withoutDescriptions(describedOnce(spec, 'spec')), withoutDescriptions(spec))
  })

  it('describes a ProxyBackend in full at each place that is referenced', () => {
    const whole = describedOnce(proxyBackend.spec, 'spec')
    const places = [...JSON.stringify(whole).matchAll(/Fields as at spec([^"]*)\."/g)]
    assert.ok(places.length > 10)
    for (const [, path = ''] of places) {
      const steps = path.match(/\.\w+|\[\]|\{\}/g) ?? []
      const part = steps.reduce<Structural | undefined>((at, step) => {
        if (step === '[]') return at?.items
        return step === '{}' ? at?.additionalProperties : at?.properties?.[step.slice(1)]
      }, whole)
      assert.ok(part !== undefined, path)
      assert.doesNotMatch(part.description ?? '', /Fields as at/, path)
      for (const [name, { description }] of Object.entries(part.properties ?? {})) {
        assert.notEqual(description, undefined, `${path}.${name}`)
      }
    }
  })
})
