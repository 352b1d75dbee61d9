import assert from 'node:assert/strict'
import { request } from 'node:http'

/** Sends exactly these headers: `fetch` marks each of its requests as sent by a script. */
export function send(url: string, init: RequestInit = {}): Promise<Response> {
  const { method = 'GET', body } = init
  const form = body instanceof URLSearchParams
  const headers = {
    ...(form ? { 'content-type': 'application/x-www-form-urlencoded' } : {}),
    ...(init.headers as Record<string, string> | undefined),
  }
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, agent: false }, async (response) => {
      const pieces: Buffer[] = []
      for await (const piece of response as AsyncIterable<Buffer>) pieces.push(piece)
      const { statusCode: status = 0, rawHeaders } = response
      const pairs = Array.from(
        { length: rawHeaders.length / 2 },
        (_, at) => rawHeaders.slice(2 * at, 2 * at + 2) as [string, string],
      )
      resolve(new Response(Buffer.concat(pieces), { status, headers: pairs }))
    })
    sent.on('error', reject)
    sent.end(body === undefined || body === null ? undefined : String(body))
  })
}

/** The browser features that a login needs: cookies by origin, redirects and forms. */
export class FormBrowser {
  readonly #jars = new Map<string, Map<string, string>>()

  /** The cookies of an origin: the jar itself, which a test may change. */
  cookies(origin: string): Map<string, string> {
    const known = this.#jars.get(origin)
    if (known !== undefined) return known
    const jar = new Map<string, string>()
    this.#jars.set(origin, jar)
    return jar
  }

  async fetch(url: string, init: RequestInit = {}): Promise<Response> {
    const { origin } = new URL(url)
    const jar = this.cookies(origin)
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const headers = { ...(cookie === '' ? {} : { cookie }), ...init.headers }
    const response = await send(url, { ...init, headers })
    for (const line of response.headers.getSetCookie()) {
      const [pair = '', ...attributes] = line.split(';').map((part) => part.trim())
      const at = pair.indexOf('=')
      const isGone = attributes.some((one) => /^(max-age=0|expires=Thu, 01 Jan 1970.*)$/i.test(one))
      if (isGone) jar.delete(pair.slice(0, at))
      else jar.set(pair.slice(0, at), pair.slice(at + 1))
    }
    return response
  }

  /**
   * Follows redirects until a page that is not a redirect, or until `until` accepts the address.
   */
  async open(
    url: string,
    until: (url: string) => boolean = () => false,
    init: RequestInit = {},
  ): Promise<{ readonly url: string; readonly response: Response | undefined }> {
    let [at, how] = [url, init]
    for (let hops = 0; hops < 20; hops++) {
      if (until(at)) return { url: at, response: undefined }
      const response = await this.fetch(at, how)
      const location = response.headers.get('location')
      if (location === null) return { url: at, response }
      await response.body?.cancel()
      at = new URL(location, at).href
      how = {}
    }
    return assert.fail(`too many redirects: ${at}`)
  }

  /** Signs in at the provider and consents; returns the address of the next redirect. */
  async signIn(loginUrl: string, person: string, end = '/callback'): Promise<string> {
    const isBack = (url: string) => new URL(url).pathname.endsWith(end)
    let page = await this.open(loginUrl, isBack)
    for (let step = 0; step < 4 && page.response !== undefined; step++) {
      const html = await page.response.text()
      assert.equal(page.response.status, 200, html)
      const [, action = ''] = /<form[^>]*action="([^"]+)"/.exec(html) ?? []
      const form = new URLSearchParams()
      for (const [, name = '', value = ''] of html.matchAll(
        /<input[^>]*type="hidden"[^>]*name="([^"]+)"[^>]*value="([^"]*)"/g,
      )) {
        form.set(name, value)
      }
      if (html.includes('name="login"')) form.set('login', person)
      if (html.includes('name="password"')) form.set('password', 'x')
      page = await this.open(new URL(action, page.url).href, isBack, {
        method: 'POST',
        body: form,
      })
    }
    assert.equal(page.response, undefined, 'the provider did not send the browser back')
    return page.url
  }
}
