import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { serveExampleModel } from './example-model.ts'

describe('the example model', () => {
  const server = createServer((request, response) => {
    if (!serveExampleModel(request, response)) response.writeHead(404).end()
  })
  const call = (path: string, body: object | string) =>
    fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`, {
      method: 'POST',
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
  const CALL = { model: 'm', messages: [{ role: 'user', content: 'hello there' }] }

  before(() => new Promise<void>((done) => server.listen(0, '127.0.0.1', done)))
  after(() => server.close())

  it('echoes the prompt in both dialects, whole and streamed', async () => {
    const chat = await (await call('/v1/chat/completions', CALL)).json()
    const { choices, usage } = chat as {
      choices: [{ message: { content: string } }]
      usage: { completion_tokens: number }
    }
    assert.equal(choices[0].message.content, 'You said: hello there')
    assert.equal(usage.completion_tokens, 4)
    const message = (await (await call('/v1/messages', CALL)).json()) as {
      content: [{ text: string }]
    }
    assert.equal(message.content[0].text, 'You said: hello there')
    for (const path of ['/v1/chat/completions', '/v1/messages']) {
      const text = await (await call(path, { ...CALL, stream: true })).text()
      assert.ok(text.includes('" there"'), text)
    }
  })

  it('rejects what is not a call, and responds 404 to other paths', async () => {
    assert.equal((await call('/v1/messages', 'no JSON')).status, 400)
    assert.equal((await call('/orders', CALL)).status, 404)
  })
})
