import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { translatorFor } from './translate.ts'

describe('a model in the path', () => {
  for (const provider of ['completions', 'messages', 'responses', 'gemini', 'converse'] as const) {
    for (const fields of [{ model: 'dear' }, {}, { model: 'cheap' }]) {
      it(`is the one that ${provider} is asked for, beside ${JSON.stringify(fields)}`, () => {
        const body = { ...fields, messages: [{ role: 'user', content: 'hi' }] }
        const bytes = Buffer.from(JSON.stringify(body))
        const endpoint = { dialect: 'completions', operation: 'generate', model: 'cheap' } as const
        const options = { model: undefined, maker: 'p', endpoint }
        const read = translatorFor('completions', provider)?.translate(bytes, options)
        assert.ok(read?.ok, JSON.stringify(read))
        const { path, body: sent } = read.value.request
        const named = `${path} ${Buffer.from(sent).toString()}`
        assert.match(named, /\bcheap\b/)
        assert.doesNotMatch(named, /dear/)
      })
    }
  }
})
