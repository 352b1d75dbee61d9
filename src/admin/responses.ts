import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import type { Model } from '../model/model.ts'
import { redact } from '../model/redact.ts'
import type { Settings } from '../model/settings.ts'
import {
  CONTENT_TYPES,
  chooseFormat,
  type MetricView,
  rendererOf,
} from '../telemetry/exposition.ts'
import { type Authenticate, hasRole, isForeign } from './callers.ts'
import { json, type RequestHandler, text } from './servers.ts'
import { type FindUi, UI_PATH, uiHandler, wantsPage } from './ui-files.ts'

/** The state of the gateway, for probes and people. */
export interface Status {
  readonly isReady: boolean
  readonly detail: string
  readonly model: Model | undefined
  readonly settings: Settings
  readonly diagnostics: readonly Diagnostic[]
  /** The findings of `portcullis lint` for the running configuration; undefined until linted. */
  readonly findings: readonly Diagnostic[] | undefined
  /** Those of the configuration before, until it is linted. */
  readonly earlierFindings?: readonly Diagnostic[] | undefined
}

export function metricsResponses(
  read: () => Promise<Iterable<MetricView>>,
): ReadonlyMap<string, RequestHandler> {
  return new Map([
    [
      '/metrics',
      async (request, response) => {
        const format = chooseFormat(request.headers.accept)
        const render = await rendererOf(format)
        const metrics = await read()
        response.writeHead(200, { 'content-type': CONTENT_TYPES[format] })
        // Streamed, so that a slow scraper does not hold a copy of everything.
        await pipeline(Readable.from(render(metrics)), response)
      },
    ],
  ])
}

/** The SHA-256 of the served file, and of the newest file if that was rejected. */
export interface Digests {
  readonly served: string | undefined
  readonly rejected: string | undefined
}

/** `digests`: for clients that compare the served configuration with the expected one. */
export function readinessResponses(
  status: () => Status,
  digests: Digests,
): ReadonlyMap<string, RequestHandler> {
  const ready: RequestHandler = (_, response) => {
    const { isReady, detail } = status()
    text(response, isReady ? 200 : 503, `${detail}\n`)
  }
  const alive: RequestHandler = (_, response) => text(response, 200, 'alive\n')
  const config: RequestHandler = (_, response) => {
    const { served, rejected } = digests
    const more = rejected === undefined ? '' : `rejected ${rejected}\n`
    if (served === undefined) text(response, 404, 'no configuration is served\n')
    else text(response, 200, `${served}\n${more}`)
  }
  return new Map([
    ['/healthz/config', config],
    ['/healthz/ready', ready],
    ['/readyz', ready],
    ['/healthz/live', alive],
    ['/livez', alive],
  ])
}

/** `secrets`: strings that must not be shown, wherever they occur. */
export function adminResponses(
  status: () => Status,
  secrets: readonly string[],
  authenticate: Authenticate,
  findUi: FindUi,
): ReadonlyMap<string, RequestHandler> {
  return new Map<string, RequestHandler>([
    [
      '/',
      (request, response: ServerResponse) => {
        response.setHeader('vary', 'accept')
        if (wantsPage(request)) {
          response.writeHead(302, { location: UI_PATH })
          response.end()
        } else text(response, 200, OVERVIEW)
      },
    ],
    [UI_PATH, uiHandler(findUi)],
    [
      '/config_dump',
      async (request, response) => {
        const caller = isForeign(request) ? undefined : await authenticate(request)
        if (caller === undefined || !hasRole(caller, 'viewer')) {
          text(
            response,
            401,
            'send the token that the gateway printed at startup: Authorization: Bearer …\n',
          )
          return
        }
        const { model, settings, diagnostics } = status()
        const dump = { settings, model: model ?? null, diagnostics }
        const hiding = { headers: settings.sensitiveHeaders, texts: secrets }
        json(response, 200, redact(dump, hiding))
      },
    ],
  ])
}

const OVERVIEW = `portcullis admin

/ui/                the Admin UI, for browsers
/config_dump        the running configuration, without secrets
/api/openapi.json   the description of the admin API
/api/health         the state of the gateway and its storage
/api/config         the configuration: baseline, effective, resources, history
/api/decisions      recorded decisions, newest first: ?policy= &verdict= &stage= &since= &limit=
/api/lint           policy findings, as in portcullis lint
`
