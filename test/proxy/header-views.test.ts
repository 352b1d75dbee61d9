import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { connect } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { type Governed, governBy } from './governed.ts'

const RULES = [
  `deny: "'banned' in request.headers.split()['x-role']"`,
  `allow: "request.headers.raw()['x-role'] == ['a,b', 'c']"`,
  `allow: "request.headers.cookie('session') == 'abc'"`,
]

describe('views of headers in rules', () => {
  let gateway: Governed | undefined
  before(async () => {
    gateway = await governBy(
      RULES.map((rule) => `- ${rule}`).join('\n'),
      (rules, port, upstream) =>
        `gateways: { default: { port: ${port} } }\nroutes:\n- name: all\n  policies:\n    authorization:\n      rules:\n${rules.replace(/^/gm, '      ')}\n  backends: [{ host: '127.0.0.1:${upstream}' }]\n`,
    )
  })
  after(() => gateway?.close())

  /** The status of a request with these header lines. */
  async function overHttp1(lines: readonly (readonly [string, string])[]): Promise<number> {
    const socket = connect(gateway?.port as number, '127.0.0.1')
    const fields = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
    socket.write(`GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${fields}\r\n`)
    let text = ''
    socket.setEncoding('latin1').on('data', (more) => (text += more))
    await once(socket, 'close')
    return Number(text.split(' ')[1])
  }

  async function overHttp2(lines: readonly (readonly [string, string])[]): Promise<number> {
    const session = connectHttp2(`http://127.0.0.1:${gateway?.port}`)
    const headers: Record<string, string | string[]> = { ':path': '/' }
    for (const [name, value] of lines) {
      const key = name.toLowerCase()
      headers[key] = [...((headers[key] as string[] | undefined) ?? []), value]
    }
    const stream = session.request(headers)
    stream.resume()
    const [response] = (await once(stream, 'response')) as [Record<string, unknown>]
    session.destroy()
    return Number(response[':status'])
  }

  for (const [what, lines, status] of [
    [
      'lines as they were sent',
      [
        ['X-Role', 'a,b'],
        ['x-role', 'c'],
      ],
      200,
    ],
    ['one line of the same text', [['x-role', 'a,b, c']], 403],
    [
      'lines in another order',
      [
        ['x-role', 'c'],
        ['x-role', 'a,b'],
      ],
      403,
    ],
    [
      'an element among others',
      [
        ['x-role', 'a,b'],
        ['x-role', 'c , banned'],
      ],
      403,
    ],
    ['a cookie', [['cookie', 'theme=light; session=abc']], 200],
    [
      'a cookie in a line of its own',
      [
        ['cookie', 'theme=light'],
        ['cookie', 'session=abc'],
      ],
      200,
    ],
    ['the second cookie of a name', [['cookie', 'session=x; session=abc']], 403],
    ['nothing', [], 403],
  ] as const) {
    for (const [version, send] of [
      ['HTTP/1.1', overHttp1],
      ['HTTP/2', overHttp2],
    ] as const) {
      it(`${what}, ${version}: ${status}`, async () => assert.equal(await send(lines), status))
    }
  }
})
