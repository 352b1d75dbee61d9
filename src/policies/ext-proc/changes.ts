import type { Exchange } from '../../exchange/exchange.ts'
import { headerEdit } from '../../exchange/header-edit.ts'
import type { HeaderView } from '../../exchange/header-view.ts'
import { type Reply as GatewayReply, reply } from '../../exchange/reply.ts'
import type { ResponseDraft } from '../../exchange/response-draft.ts'
import { type Header, isFit, isFitName } from '../service-headers.ts'
import type { Changes, Reply, SetHeader } from './messages.ts'

/* Changes that a service makes to a message, and responses that it sends instead. */

/** A short description of a change that is not possible; undefined: all were applied. */
export function changeRequest(exchange: Exchange, changes: Changes): string | undefined {
  for (const { name, value } of changes.set) {
    if (name === ':path') {
      if (!/^\/[!"$-~]*$/.test(value)) return 'invalid path'
      const at = value.indexOf('?')
      exchange.path = at < 0 ? value : value.slice(0, at)
      exchange.search = at < 0 ? '' : value.slice(at)
    } else if (name === ':authority' || name === 'host') {
      if (!/^[\w.:[\]-]+$/.test(value)) return 'invalid host'
      exchange.host = value
    } else if (name.startsWith(':')) return `${name} cannot be changed`
  }
  const { headers } = exchange.request
  exchange.requestEdit = exchange.requestEdit.with(editOf(changes, headers))
  return undefined
}

/** The same for a response. */
export function changeResponse(draft: ResponseDraft, changes: Changes): string | undefined {
  for (const { name, value } of changes.set) {
    if (!name.startsWith(':')) continue
    if (name !== ':status' || !/^[2-5]\d\d$/.test(value)) return `${name} cannot be changed`
    draft.status = Number(value)
  }
  draft.change(editOf(changes, draft.headers))
  return undefined
}

function editOf({ set, remove }: Changes, headers: HeaderView) {
  const isThere = (name: string) => headers.get(name) !== undefined
  const wanted = set.filter(({ name, value }) => isFit([name, value]))
  const of = (isOne: (one: SetHeader) => boolean) =>
    wanted.filter(isOne).map(({ name, value }) => ({ name, value }))
  return headerEdit({
    set: of(
      ({ action, name }) =>
        action === 'overwrite' || (action === 'overwriteIfExists' && isThere(name)),
    ),
    add: of(
      ({ action, name }) => action === 'append' || (action === 'addIfAbsent' && !isThere(name)),
    ),
    remove: remove.filter(isFitName),
  })
}

/** The response that the client gets instead. */
export function immediateReply({
  status,
  headers,
  body,
  detail,
}: Extract<Reply, { readonly kind: 'immediate' }>): GatewayReply {
  const fit = headers.filter(isFit)
  const isType = ([name]: Header) => name === 'content-type'
  const set = fit.filter((one) => !isType(one)).map(([name, value]) => ({ name, value }))
  const plain = body.length === 0 ? '' : 'text/plain; charset=utf-8'
  return {
    ...reply(status, 'external-processing', '', headerEdit({ set })),
    ...(body.length === 0 ? {} : { body }),
    contentType: body.length === 0 ? '' : (fit.find(isType)?.[1] ?? plain),
    detail,
  }
}
