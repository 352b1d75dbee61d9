import { terminatedTls } from '../../../model/gateway.ts'
import { uiListeners } from '../../../reach/admin-ui.ts'
import type { Check } from '../check.ts'
import type { Finding } from '../finding.ts'

/** AZ037, AZ038: the Admin UI on a port where others can get the credentials of its users. */
export const exposedUi: Check = function* ({ model }) {
  const ui = model.backends.find(({ kind }) => kind === 'admin')
  if (ui === undefined) return
  for (const { where, other } of uiListeners(model)) {
    const name = `${where.gateway.name}/${where.listener.name}`
    if (terminatedTls(where.listener) === undefined) {
      yield finding(
        'AZ037',
        `the Admin UI is served without TLS on listener \`${name}\`: tokens and sessions of its users can be read on the way`,
        'set `tls` on the listener, or use `config.adminAddr` on this machine',
      )
    }
    if (other === undefined) continue
    yield finding(
      'AZ038',
      `the Admin UI has the same origin as route \`${other.route.name}\` on listener \`${name}\`: scripts of its pages can act as the user who is signed in`,
      'serve it on a listener with its own `hostname`: `ui: { gateways: gateway/listener }`',
    )
  }

  function finding(code: string, message: string, hint: string): Finding {
    const { origin } = ui as NonNullable<typeof ui>
    return { diagnostic: { code, severity: 'warning', message, hint, origin } }
  }
}
