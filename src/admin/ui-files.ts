import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join, sep } from 'node:path'
import { type RequestHandler, text } from './servers.ts'

/** The path of the Admin UI. */
export const UI_PATH = '/ui/'

/** The placeholder in the built page, replaced with a fresh value for each response. */
const NONCE = '__CSP_NONCE__'

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

const ENCODINGS = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const

/** Returns the folder with the built UI, or the reason why there is none. */
export type FindUi = () => Promise<{ readonly folder: string } | { readonly problem: string }>

interface Built {
  readonly page: string
  /** Path below the folder → bytes; precompressed files have separate names. */
  readonly files: ReadonlyMap<string, Buffer>
}

/** Serves the files of the Admin UI. They contain no gateway data, so anyone may read them. */
export function uiHandler(find: FindUi): RequestHandler {
  let loading: Promise<Built | string> | undefined
  const load = async () => {
    const found = await find()
    return 'problem' in found ? found.problem : readBuilt(found.folder)
  }
  return async (request, response) => {
    loading ??= load()
    const built = await loading
    if (typeof built === 'string') {
      loading = undefined
      text(response, 503, `${built}\n`)
      return
    }
    const path = (request.url ?? '').split('?', 1)[0] as string
    const name = path.slice(UI_PATH.length)
    if (name.includes('.')) sendFile(request, response, built, name)
    // Pages have no files: the script of the single page handles their paths.
    else sendPage(request, response, built)
  }
}

/** Browsers are redirected to the UI; programs that read `/` get the same response as before. */
export function wantsPage({ headers }: IncomingMessage): boolean {
  return /(?:^|,)\s*text\/html\b/.test(headers.accept ?? '')
}

function readBuilt(folder: string): Built {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
  const files = new Map(
    names.map((file) => [file.slice(folder.length + 1).replaceAll(sep, '/'), readFileSync(file)]),
  )
  return { page: String(files.get('index.html') ?? ''), files }
}

function sendPage(request: IncomingMessage, response: ServerResponse, { page }: Built): void {
  const nonce = randomBytes(16).toString('base64')
  const body = Buffer.from(page.replaceAll(NONCE, nonce))
  response.writeHead(200, {
    ...GUARDING,
    'content-type': TYPES['.html'],
    'content-length': body.length,
    'cache-control': 'no-store',
    'content-security-policy': policyFor(nonce),
  })
  response.end(request.method === 'HEAD' ? undefined : body)
}

/** Only allows loading from and connecting to the gateway; styles by scripts have the nonce. */
function policyFor(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

const GUARDING = {
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
} as const

/** Serves only names in the folder: a path cannot lead out of it. */
function sendFile(
  request: IncomingMessage,
  response: ServerResponse,
  { files }: Built,
  name: string,
): void {
  const plain = files.get(name)
  const type = TYPES[/\.[a-z]+$/.exec(name)?.[0] ?? '']
  if (plain === undefined || type === undefined || name === 'index.html') {
    text(response, 404, 'file not found: reload the page\n')
    return
  }
  const accepted = request.headers['accept-encoding'] ?? ''
  const [encoding, ending] = ENCODINGS.find(
    ([coding, end]) =>
      new RegExp(`(?:^|,)\\s*${coding}\\s*(?:,|;\\s*q=(?!0(?:\\.0*)?\\s*(?:,|$))|$)`).test(
        accepted,
      ) && files.has(`${name}${end}`),
  ) ?? [undefined, '']
  const body = files.get(`${name}${ending}`) ?? plain
  response.writeHead(200, {
    ...GUARDING,
    'content-type': type,
    'content-length': body.length,
    vary: 'accept-encoding',
    // Names of files below assets/ contain a hash of their contents.
    'cache-control': name.startsWith('assets/')
      ? 'public, max-age=31536000, immutable'
      : 'no-cache',
    ...(encoding === undefined ? {} : { 'content-encoding': encoding }),
  })
  response.end(request.method === 'HEAD' ? undefined : body)
}
