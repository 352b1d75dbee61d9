import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { editRequest, editResponse, stateIdsOf } from './state-edits.ts'
import { StateIds } from './state-ids.ts'
import { readStatePath } from './state-paths.ts'
import { StateStream } from './state-stream.ts'

const upper = (id: string) => id.toUpperCase()

describe('state ids', () => {
  it('a stream is the same wherever it is split', () => {
    const response = {
      id: 'resp_1',
      output: [{ id: 'msg_1', content: [{ text: '"id":"msg_1" ü' }] }],
    }
    const events = [
      ': ping\n\n',
      `event: response.created\r\ndata: ${JSON.stringify({ type: 'x', response })}\r\n\r\n`,
      'data: {"item_id" : "msg_1","delta":"\\"item_id\\":\\"msg_1\\" ü"}\r\r',
      'data: {"response":{"id":"resp_1"\n\n',
      'data: [DONE]\n\n',
    ].join('')
    const expected = events
      .replace('"id":"resp_1","output":[{"id":"msg_1"', '"id":"RESP_1","output":[{"id":"MSG_1"')
      .replace('"item_id" : "msg_1"', '"item_id" : "MSG_1"')
    const bytes = Buffer.from(events)
    for (let cut = 0; cut <= bytes.length; cut++) {
      const stream = new StateStream(upper)
      const out = [
        stream.push(bytes.subarray(0, cut)),
        stream.push(bytes.subarray(cut)),
        stream.end(),
      ]
      assert.equal(Buffer.concat(out).toString(), expected, String(cut))
    }
  })

  it('user data is not treated as an id', () => {
    const text =
      '{"id":"resp_1","metadata":{"id":"a"},"tools":[{"id":"b","parameters":{"id":"c"}}],"n":1e2}'
    assert.equal(editResponse(text, upper), text.replace('resp_1', 'RESP_1'))
  })

  it('every id of a request is found, and exactly those are changed', () => {
    const body = {
      previous_response_id: 'p',
      conversation: { id: 'q' },
      input: [
        { type: 'item_reference', id: 'r' },
        { id: 's' },
        { role: 'user', content: 'x', id: 't' },
        { type: 'reasoning', id: 'u' },
        { type: 'reasoning', id: 'v', encrypted_content: 'x' },
        { type: 'mcp_approval_response', approval_request_id: 'w' },
      ],
      tools: [
        { type: 'code_interpreter', container: 'x' },
        { type: 'code_interpreter', container: {} },
      ],
      metadata: { id: 'y' },
    }
    const found = stateIdsOf(body)
    assert.deepEqual(
      found.map(({ id, isOptional }) => `${id}${isOptional ? '?' : ''}`),
      ['p', 'q', 'r', 's', 't?', 'u', 'v?', 'w', 'x'],
    )
    const seen: string[] = []
    editRequest(JSON.stringify(body), (id) => {
      seen.push(id)
      return id
    })
    assert.deepEqual(
      seen,
      found.map(({ id }) => id),
    )
  })

  it('an id opens unchanged for its caller, at its provider', () => {
    const ids = new StateIds(new Uint8Array(32).fill(7))
    const owner = { provider: 'b/one', caller: 'ann' }
    for (const model of [undefined, 'gpt-x', 'a.b/c ü', '']) {
      for (const id of ['resp_1', 'a.b', 'x.y.z']) {
        const sealed = ids.seal(id, owner, model)
        assert.equal(ids.seal(id, owner, model), sealed)
        assert.deepEqual(ids.open(sealed, 'ann', ['b/two', 'b/one']), {
          ...{ id, provider: 'b/one', model },
        })
        assert.equal(ids.open(sealed, 'ben', ['b/one']), undefined)
        assert.equal(ids.open(sealed, '', ['b/one']), undefined)
        assert.equal(ids.open(sealed, 'ann', ['b/two']), undefined)
        assert.equal(new StateIds(new Uint8Array(32)).open(sealed, 'ann', ['b/one']), undefined)
        for (let at = 0; at < sealed.length; at++) {
          const other = sealed[at] === 'q' ? 'r' : 'q'
          const changed = `${sealed.slice(0, at)}${other}${sealed.slice(at + 1)}`
          assert.equal(ids.open(changed, 'ann', ['b/one']), undefined, changed)
        }
      }
    }
  })

  for (const [method, path, expected] of [
    ['GET', '/v1/chat/completions', undefined],
    ['GET', '/v1/responses', 'unknown'],
    ['GET', '/v1/responses/', 'unknown'],
    ['GET', '/v1/RESPONSES/r', 'unknown'],
    ['GET', '/v1%2Fresponses%2Fr', 'unknown'],
    ['GET', '/v1/responses/r', '/responses/R'],
    ['POST', '/openai/v1/responses/r/cancel', '/responses/R/cancel'],
    ['GET', '/v1/responses/r/', 'unknown'],
    ['GET', '/v1/responses/r/x', 'unknown'],
    ['POST', '/v1/conversations', '/conversations'],
    ['POST', '/v1/conversations/', 'unknown'],
    ['GET', '/v1/conversations/c/items/i', '/conversations/C/items/I'],
    ['GET', '/v1/containers/c/files/f/content', '/containers/C/files/f/content'],
    ['GET', '/v1/containers/c/files/f/x', 'unknown'],
  ] as const) {
    it(`${method} ${path}: ${expected}`, () => {
      const read = readStatePath(method, path)
      const said = typeof read === 'object' ? read.pathWith(read.ids.map(upper)) : read
      assert.equal(said, expected)
    })
  }
})
