// The specification, sentence by sentence, in a cluster: policies are applied to a real API server
// and checked by requests. A policy whose status is Programmed is in effect: no request is repeated
// to wait for it.

import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { before, describe, it } from 'node:test'
import { connect, type TLSSocket } from 'node:tls'
import { serveExampleMcp } from '../../src/cli/example-mcp.ts'
import { eventually } from './harness.ts'
import { GATEWAY_API, type Plane, PORTCULLIS_API } from './plane.ts'
import type { Running } from './programs.ts'
import { backends, certificate, gateways, routes } from './specification-objects.ts'
import { type Asked, block, onService, SCENARIOS } from './specification-rows.ts'
import { tokenOf } from './tokens.ts'

const POLICIES = `${PORTCULLIS_API}/namespaces/apps/proxypolicies`
const DENIED = 'closed without a byte'

export function describeSpecification(planeHere: () => Plane): void {
  describe('the specification in a cluster', () => {
    let plane: Plane
    /** HTTP, HTTPS, TLS. */
    let ports: readonly [number, number, number]
    let web: Running & { readonly first: number }
    let sni: Running

    before(async () => {
      plane = planeHere()
      const first = plane.take(3)
      ports = [first, first + 1, first + 2]
      const behind = await plane.serve((request, response) => {
        if (serveExampleMcp(request, response)) return
        request.resume()
        const completion = { choices: [{ message: { role: 'assistant', content: 'served' } }] }
        response.setHeader('content-type', 'application/json')
        response.end(JSON.stringify({ id: '1', object: 'chat.completion', ...completion }))
      })
      plane.apply(
        certificate(),
        ...gateways(ports),
        ...plane.serviceOf('orders', behind),
        ...plane.serviceOf('restricted', behind),
        ...plane.serviceOf('streams', behind),
        ...plane.serviceOf('orders', behind, 'shop'),
        ...backends(behind),
        ...routes(),
      )
      for (const name of ['web', 'sni']) await plane.giveAddress(name)
      web = await plane.startProxy('web')
      sni = await plane.startProxy('sni')
      for (const name of ['web', 'sni']) {
        const path = `${GATEWAY_API}/namespaces/apps/gateways/${name}`
        await plane.conditions(path, { Programmed: 'True Programmed' })
      }
    })

    /** Applies exactly these policies and returns their conditions. */
    async function use(policies: Readonly<Record<string, object>>) {
      const { body } = await plane.cluster.ask('GET', POLICIES)
      const old = (body['items'] ?? []) as readonly {
        readonly metadata: { readonly name: string }
      }[]
      for (const { metadata } of old)
        await plane.cluster.ask('DELETE', `${POLICIES}/${metadata.name}`)
      // Only a barrier: once it is programmed, so is everything applied before it.
      const all = {
        ...policies,
        last: onService('orders', { authorization: block('Allow', 'true') }),
      }
      const found: Record<string, Awaited<ReturnType<Plane['conditions']>>> = {}
      for (const [name, spec] of Object.entries(all)) {
        const response = await plane.cluster.ask('POST', POLICIES, {
          apiVersion: 'portcullis.dev/v1alpha1',
          kind: 'ProxyPolicy',
          metadata: { name },
          spec,
        })
        assert.equal(response.status, 201, JSON.stringify(response.body))
      }
      for (const name of Object.keys(all)) {
        found[name] = await plane.conditions(`${POLICIES}/${name}`, {
          Accepted: 'True Accepted',
          Attached: 'True Attached',
          Programmed: 'True Programmed',
        })
      }
      return found
    }

    /** The status of the response; 0 without a response. */
    function ask(asked: Asked = {}, isSecure = false): Promise<number> {
      const { claims, authorization, headers, method = 'GET', path = '/' } = asked
      const bearer = claims === undefined ? authorization : `Bearer ${tokenOf(claims)}`
      const options = {
        host: '127.0.0.1',
        port: ports[isSecure ? 1 : 0],
        agent: false,
        method,
        path,
        headers: {
          host: 'web.example.com',
          ...(bearer === undefined ? {} : { authorization: bearer }),
          ...headers,
        },
      }
      return new Promise((resolve) => {
        const secure = { servername: 'web.example.com', rejectUnauthorized: false }
        const sent = isSecure ? httpsRequest({ ...options, ...secure }) : httpRequest(options)
        sent.on('response', (response) => {
          response.resume()
          resolve(response.statusCode ?? 0)
        })
        sent.on('error', () => resolve(0))
        const isModel = path.endsWith('/completions')
        sent.end(isModel ? '{"model":"m","messages":[{"role":"user","content":"hi"}]}' : undefined)
      })
    }

    /** The result of one request over TLS, with or without a server name. */
    async function askByName(servername: string | undefined): Promise<string> {
      const socket: TLSSocket = connect({
        host: '127.0.0.1',
        port: ports[2],
        rejectUnauthorized: false,
        ALPNProtocols: ['h2', 'http/1.1'],
        ...(servername === undefined ? {} : { servername }),
      })
      let text = ''
      socket.on('secureConnect', () => {
        assert.notEqual(socket.alpnProtocol, 'h2')
        socket.write('GET / HTTP/1.1\r\nhost: x.example.com\r\nconnection: close\r\n\r\n')
      })
      socket.setEncoding('latin1').on('data', (chunk) => (text += chunk))
      socket.on('error', () => {})
      await new Promise((resolve) => socket.on('close', resolve))
      return text === '' ? DENIED : (text.split('\r\n')[0] ?? '')
    }

    for (const [title, { policies, rows }] of Object.entries(SCENARIOS)) {
      it(title, async () => {
        await use(policies)
        const expected = rows.map(([what, , status]) => `${what}: ${status}`)
        const found = await Promise.all(
          rows.map(async ([what, asked]) => `${what}: ${await ask(asked)}`),
        )
        assert.deepEqual(found, expected)
      })
    }

    it('a policy that reads jwt without authentication is accepted, denies all, and reports it', async () => {
      const { blind } = await use({
        blind: {
          targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'web' }],
          traffic: { authorization: block('Allow', "jwt.sub == 'alice'") },
        },
      })
      assert.equal(await ask({ claims: { sub: 'alice' } }), 403)
      assert.equal(await ask(), 403)
      const { RulesHealthy } = await plane.conditions(`${POLICIES}/blind`, {
        RulesHealthy: 'False NeverMatches',
      })
      assert.match(RulesHealthy?.message ?? '', /jwt/)
      assert.match(RulesHealthy?.message ?? '', /matchExpressions\[0\]/)
      assert.equal(blind?.['Attached']?.status, 'True')
      await eventually(async () => {
        const events = '/apis/events.k8s.io/v1/namespaces/apps/events'
        const { body } = await plane.cluster.ask('GET', events)
        const items = (body['items'] ?? []) as readonly EventObject[]
        const found = items.some(
          ({ type, reason, regarding }) =>
            type === 'Warning' && reason === 'NeverMatches' && regarding.name === 'blind',
        )
        return found ? true : undefined
      }, 'an Event about it')
    })

    it('a policy on a Service of another namespace applies to that one', async () => {
      await use({})
      const path = `${PORTCULLIS_API}/namespaces/shop/proxypolicies`
      const metadata = { name: 'elsewhere' }
      const spec = onService('orders', { authorization: block('Deny', 'true') })
      const apiVersion = 'portcullis.dev/v1alpha1'
      const made = { apiVersion, kind: 'ProxyPolicy', metadata, spec }
      assert.equal((await plane.cluster.ask('POST', path, made)).status, 201)
      await use({ after: onService('restricted', { authorization: block('Allow', 'true') }) })
      assert.equal(await ask(), 200)
      await plane.cluster.ask('DELETE', `${path}/elsewhere`)
    })

    const network = (gateway: string, action: string, expression: string) => ({
      targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', name: gateway }],
      frontend: { networkAuthorization: block(action, expression) },
    })
    const ALLOWED = "destination.hostname == 'allowed.example.com'"

    it('network authorization by server name, with and without one', async () => {
      await use({ names: network('sni', 'Require', ALLOWED) })
      assert.equal(await askByName('allowed.example.com'), 'HTTP/1.1 200 OK')
      assert.equal(await askByName('other.example.com'), DENIED)
      assert.equal(await askByName(undefined), DENIED)
    })

    it('its record in the log', async () => {
      const denied = await eventually(async () => {
        const lines = sni.output().split('\n')
        const found = lines.filter((line) => line.includes('authorization failed'))
        return found.length >= 2 ? found : undefined
      }, 'records')
      // Workers write in any order.
      for (const name of ['tls.sni=other.example.com', 'tls.sni=""']) {
        const line = denied.find((one) => one.includes(name)) ?? ''
        assert.match(line, /^\d{4}-\d\d-\d\dT\S+Z\s+error\s+request\b/, denied.join('\n'))
        assert.match(line, /src\.addr=127\.0\.0\.1:\d+/)
        assert.match(line, /protocol=tcp error="authorization failed" duration=[\d.]+ms/)
      }
    })

    it('network authorization by peer address', async () => {
      const within = (range: string) => `cidr('${range}').containsIP(source.address)`
      await use({ own: network('sni', 'Allow', within('127.0.0.0/8')) })
      assert.equal(await askByName('any.example.com'), 'HTTP/1.1 200 OK')
      await use({ others: network('sni', 'Allow', within('192.0.2.0/24')) })
      assert.equal(await askByName('any.example.com'), DENIED)
      await use({ own: network('sni', 'Deny', within('127.0.0.0/8')) })
      assert.equal(await askByName('any.example.com'), DENIED)
    })

    it('a Require rule on the server name denies every HTTP and HTTPS connection', async () => {
      await use({})
      assert.deepEqual([await ask(), await ask({}, true)], [200, 200])
      await use({ names: network('web', 'Require', "destination.hostname == 'web.example.com'") })
      assert.deepEqual([await ask(), await ask({}, true)], [0, 0])
      await plane.conditions(`${POLICIES}/names`, { RulesHealthy: 'False NeverMatches' })
    })

    it('an address compared with a range as a string is rejected, and all requests are denied', async () => {
      await use({})
      const path = `${POLICIES}/text`
      await plane.cluster.ask('POST', POLICIES, {
        apiVersion: 'portcullis.dev/v1alpha1',
        kind: 'ProxyPolicy',
        metadata: { name: 'text' },
        spec: {
          targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'web' }],
          traffic: { authorization: block('Allow', "source.address == '127.0.0.0/8'") },
        },
      })
      const { Accepted } = await plane.conditions(path, {
        Accepted: 'False Invalid',
        RulesHealthy: 'False Invalid',
        Programmed: 'False Rejected',
      })
      assert.match(Accepted?.message ?? '', /PC0107/)
      assert.equal(await ask(), 500)
    })

    it('MCP: a rule on tools', async () => {
      await use({
        tools: {
          targetRefs: [{ group: 'portcullis.dev', kind: 'ProxyBackend', name: 'tools' }],
          backend: { mcp: { authorization: block('Allow', "mcp.tool.name == 'list_notes'") } },
        },
      })
      const call = async (method: string, params: object) => {
        const response = await fetch(`http://127.0.0.1:${ports[0]}/mcp`, {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            accept: 'application/json, text/event-stream',
          },
          body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
        })
        return response.text()
      }
      const listed = await call('tools/list', {})
      assert.match(listed, /list_notes/)
      assert.doesNotMatch(listed, /read_note|delete_note/)
      assert.match(await call('tools/call', { name: 'list_notes', arguments: {} }), /team\/plan/)
      const denied = await call('tools/call', { name: 'delete_note', arguments: { name: 'x' } })
      assert.match(denied, /Unknown tool/)
    })

    it('metrics, on the port in the annotations of the Deployment', async () => {
      const path = '/apis/apps/v1/namespaces/apps/deployments/web'
      const { body } = await plane.cluster.ask('GET', path)
      const { template } = body['spec'] as {
        readonly template: {
          readonly metadata: { readonly annotations: Readonly<Record<string, string>> }
        }
      }
      assert.equal(template.metadata.annotations['prometheus.io/port'], '15020')
      assert.equal(template.metadata.annotations['prometheus.io/path'], '/metrics')
      const response = await fetch(`http://127.0.0.1:${web.first + 1}/metrics`)
      assert.match(await response.text(), /portcullis_requests_total\{/)
    })
  })
}

interface EventObject {
  readonly type: string
  readonly reason: string
  readonly regarding: { readonly name: string }
}
