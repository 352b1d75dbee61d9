import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, afterEach, before, beforeEach, describe, it } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { loadText } from '../../src/sources/file/load.ts'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'

const DOCUMENT = `
openapi: 3.0.3
info: { title: Shop, version: '2.1' }
servers:
  - url: https://shop.example.com/{stage}
    variables: { stage: { default: v2 } }
paths:
  /orders/{id}:
    parameters:
      - { $ref: '#/components/parameters/Id' }
    get:
      operationId: getOrder
      summary: Reads an order
      parameters:
        - { name: fields, in: query, schema: { type: array, items: { type: string } } }
        - { name: tags, in: query, explode: false, schema: { type: array, items: { type: string } } }
        - { name: filter, in: query, style: deepObject, schema: { type: object } }
        - { name: X-Trace, in: header, schema: { type: string } }
        - { name: Authorization, in: header, schema: { type: string } }
        - { name: session, in: cookie, schema: { type: string } }
        - { name: id, in: query, schema: { type: integer } }
    put:
      operationId: getOrder
      requestBody: { $ref: '#/components/requestBodies/Order' }
  /orders:
    post:
      requestBody:
        required: true
        content:
          application/json: { schema: { $ref: '#/components/schemas/Order' } }
  /form:
    post:
      operationId: submit/form!
      requestBody:
        content:
          application/x-www-form-urlencoded: { schema: { type: object } }
  /upload:
    post:
      operationId: upload
      requestBody: { required: true, content: { multipart/form-data: {} } }
  /matrix/{p}:
    get:
      operationId: matrix
      parameters: [{ name: p, in: path, style: matrix, required: true, schema: { type: string } }]
  /elsewhere:
    get:
      operationId: elsewhere
      parameters: [{ $ref: 'other.yaml#/x' }]
  /image: { get: { operationId: image } }
components:
  parameters:
    Id: { name: id, in: path, required: true, schema: { type: string } }
  requestBodies:
    Order:
      content: { application/json: { schema: { $ref: '#/components/schemas/Order' } } }
  schemas:
    Order:
      type: object
      properties:
        note: { type: string, nullable: true }
        count: { type: integer, minimum: 0, exclusiveMinimum: true }
        parent: { $ref: '#/components/schemas/Order' }
`

interface Seen {
  readonly line: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
}

describe('an API that OpenAPI describes', () => {
  let api: Server
  let apiPort = 0
  let port = 0
  let gateway: Deciding | undefined
  const seen: Seen[] = []
  const open: Client[] = []

  before(async () => {
    port = await freePort()
    api = createServer(async (request, response) => {
      const pieces: Buffer[] = []
      for await (const piece of request) pieces.push(piece as Buffer)
      const url = request.url ?? ''
      if (url === '/openapi.yaml') {
        response.end(DOCUMENT)
        return
      }
      const body = Buffer.concat(pieces).toString()
      seen.push({ line: `${request.method} ${url}`, headers: request.headers, body })
      if (url.includes('/missing')) {
        response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":"none"}')
      } else if (url.includes('/image')) {
        response.writeHead(200, { 'content-type': 'image/png' }).end(Buffer.from([137, 80, 255]))
      } else {
        response.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true}')
      }
    })
    await new Promise<void>((resolve) => api.listen(0, '127.0.0.1', resolve))
    apiPort = (api.address() as AddressInfo).port
  })
  after(() => {
    api?.closeAllConnections()
    api?.close()
  })
  beforeEach(() => {
    seen.length = 0
  })
  afterEach(async () => {
    for (const client of open.splice(0)) await client.close()
    await gateway?.stop()
    gateway = undefined
  })

  async function serve(policies: object = {}, target: object = {}): Promise<Client> {
    const openapi = { host: `127.0.0.1:${apiPort}`, schema: DOCUMENT, ...target }
    const own = { name: 'shop', openapi, policies: { backendAuth: { key: 'robot-key' } } }
    gateway = await startDeciding(
      JSON.stringify({
        gateways: { default: { port } },
        backends: [{ name: 'tools', mcp: { targets: [own] }, policies }],
        routes: [{ name: 'tools', backends: [{ backend: 'tools' }] }],
      }),
    )
    const client = new Client({ name: 'test', version: '1' })
    const url = new URL(`http://127.0.0.1:${port}/mcp`)
    const headers = { authorization: 'Bearer of-the-client' }
    const transport = new StreamableHTTPClientTransport(url, { requestInit: { headers } })
    await client.connect(transport as never)
    open.push(client)
    return client
  }

  const call = (client: Client, name: string, given: Record<string, unknown>) =>
    client.callTool({ name, arguments: given })

  it('has a tool for each supported operation', async () => {
    const client = await serve()
    assert.deepEqual(client.getServerVersion(), { name: 'Shop', version: '2.1' })
    const { tools } = await client.listTools()
    assert.deepEqual(
      tools.map(({ name }) => name),
      ['getOrder', 'getOrder_2', 'post_orders', 'submit_form', 'image'],
    )
    const [read, , create] = tools
    assert.equal(read?.description, 'Reads an order')
    assert.deepEqual(Object.keys(read?.inputSchema.properties ?? {}), [
      'id',
      'fields',
      'tags',
      'filter',
      'X-Trace',
      'id_query',
    ])
    assert.deepEqual(read?.inputSchema.required, ['id'])
    assert.equal(read?.annotations?.readOnlyHint, true)
    assert.deepEqual(create?.inputSchema['$defs'], {
      Order: {
        type: 'object',
        properties: {
          note: { type: ['string', 'null'] },
          count: { type: 'integer', exclusiveMinimum: 0 },
          parent: { $ref: '#/$defs/Order' },
        },
      },
    })
  })

  it('gets arguments in path, query, headers and body, and the credential of the target', async () => {
    const client = await serve()
    const result = await call(client, 'getOrder', {
      id: 'a/b c?',
      fields: ['x', 'y&z'],
      tags: ['p', 'q,r'],
      filter: { state: 'open' },
      'X-Trace': 't1',
      id_query: 7,
    })
    assert.deepEqual(result.structuredContent, { ok: true })
    const [got] = seen
    assert.equal(
      got?.line,
      'GET /v2/orders/a%2Fb%20c%3F?fields=x&fields=y%26z&tags=p,q%2Cr&filter%5Bstate%5D=open&id=7',
    )
    assert.equal(got?.headers['x-trace'], 't1')
    assert.equal(got?.headers['authorization'], 'Bearer robot-key')
    await call(client, 'post_orders', { body: { count: 3, parent: { note: null } } })
    assert.deepEqual(
      [seen[1]?.line, seen[1]?.headers['content-type'], seen[1]?.body],
      ['POST /v2/orders', 'application/json', '{"count":3,"parent":{"note":null}}'],
    )
    await call(client, 'submit_form', { body: { a: 'x y', b: [1, 2] } })
    assert.deepEqual([seen[2]?.line, seen[2]?.body], ['POST /v2/form', 'a=x+y&b=1&b=2'])
  })

  for (const [what, name, given] of [
    ['a path that climbs', 'getOrder', { id: '..' }],
    ['a path that stays', 'getOrder', { id: '.' }],
    ['an empty path', 'getOrder', { id: '' }],
    ['no path', 'getOrder', {}],
    ['a header with a line end', 'getOrder', { id: '1', 'X-Trace': 'a\r\nx-evil: 1' }],
    ['an argument that there is not', 'getOrder', { id: '1', Authorization: 'Bearer mine' }],
    ['no body', 'post_orders', {}],
    ['objects in an array of the query', 'getOrder', { id: '1', fields: [{ a: 1 }] }],
  ] as const) {
    it(`never gets ${what}`, async () => {
      const client = await serve()
      await assert.rejects(call(client, name, given), /-32602/)
      assert.deepEqual(seen, [])
    })
  }

  it('is subject to rules about arguments, by name', async () => {
    const rules = [{ allow: "mcp.tool.name == 'getOrder' && mcp.tool.arguments.id == '7'" }]
    const client = await serve({ mcpAuthorization: { rules } })
    const { tools } = await client.listTools()
    assert.deepEqual(
      tools.map(({ name }) => name),
      ['getOrder'],
    )
    await call(client, 'getOrder', { id: '7' })
    await assert.rejects(call(client, 'getOrder', { id: '8' }), /Unknown tool/)
    await assert.rejects(call(client, 'image', {}), /Unknown tool/)
    assert.deepEqual(
      seen.map(({ line }) => line),
      ['GET /v2/orders/7'],
    )
  })

  it('returns errors and images as tools do', async () => {
    const client = await serve()
    const missing = await call(client, 'getOrder', { id: 'missing' })
    assert.deepEqual(missing, {
      content: [{ type: 'text', text: 'HTTP 404\n{"error":"none"}' }],
      isError: true,
    })
    const { content } = await call(client, 'image', {})
    assert.deepEqual(content, [{ type: 'image', data: 'iVD/', mimeType: 'image/png' }])
  })

  it('is fetched by its URL, and served below the configured path', async () => {
    const url = `http://127.0.0.1:${apiPort}/openapi.yaml`
    const client = await serve({}, { schema: { url }, path: '/other' })
    await call(client, 'getOrder', { id: '1' })
    assert.equal(seen[0]?.line, 'GET /other/orders/1')
  })

  it('requires an OpenAPI 3 document', () => {
    for (const schema of ['{"swagger":"2.0","paths":{}}', 'openapi: 3.1.0', 'a: [', 'text']) {
      const text = JSON.stringify({
        gateways: { default: { port: 80 } },
        mcp: { targets: [{ name: 'a', openapi: { host: 'a:80', schema } }] },
      })
      const { diagnostics } = loadText(text, 'gateway.yaml', { environment: {} }).result
      assert.match(diagnostics.map(({ message }) => message).join(), /not an OpenAPI 3 document/)
    }
  })
})
