import type { CodeRecord } from './define.ts'

/** The Admin UI on ports of gateways. */
export const ADMIN_UI_CODES: readonly CodeRecord[] = [
  {
    code: 'PC0326',
    severity: 'error',
    title: 'the Admin UI without sign-in',
    explanation:
      '`ui` serves the Admin UI on a port of a gateway, which other machines can reach, and ' +
      'nothing authenticates its users. At `config.adminAddr` on this machine that is allowed, ' +
      'because only its operator can connect; on a gateway, everyone could change what it ' +
      'allows. A gateway with such a file does not start. Let users sign in with ' +
      '`config.adminAuth`, or set the environment variable `PORTCULLIS_ADMIN_TOKEN`. Where only ' +
      'the machine that serves has the variable, `check` reports this as a warning.',
    example: {
      language: 'text',
      wrong: 'ui: {}                                # neither sign-in nor a token',
      right: 'PORTCULLIS_ADMIN_TOKEN=$(openssl rand -hex 32) portcullis run gateway.yaml',
      sketch: true,
    },
  },
  {
    code: 'PC0327',
    severity: 'warning',
    title: 'sign-in does not lead to the Admin UI of the gateway',
    explanation:
      '`redirectUri` of `config.adminAuth` is the address to which browsers return after they ' +
      'signed in. With the path `/api/auth/callback` that is the admin address, so that no one ' +
      'can sign in to the UI that `ui` serves on a gateway. Use its address there, with the path ' +
      '`/ui/api/auth/callback`, and register it with the provider.',
    example: {
      language: 'text',
      wrong: 'redirectUri: https://admin.example.com/api/auth/callback      # with `ui`',
      right: 'redirectUri: https://admin.example.com/ui/api/auth/callback',
      sketch: true,
    },
  },
]
