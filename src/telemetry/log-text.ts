import { quote } from './escape.ts'
import type { LogForm, LogValue } from './log.ts'
import { renderJson } from './log-json.ts'
import { Milliseconds } from './time-text.ts'

/** Max number of names whose rendered form is cached, since some names come from tokens. */
const REMEMBERED = 1000

/** Printable ASCII without space, quote, `=` and backslash: unambiguous without quotes. */
const BARE = /^[!#-<>-[\]-~]+$/
const BARE_NAME = /^[\w.\-/@:]{1,256}$/

/** `<time><TAB>level<TAB>scope name=value name="a value"`, which is logfmt after the scope. */
export function createTextForm(): LogForm {
  // Includes the leading space and the equals sign, since every concatenation costs time.
  const names = new Map<string, string>()
  const remember = (name: string) => {
    const joint = ` ${renderName(name)}=`
    if (names.size < REMEMBERED) names.set(name, joint)
    return joint
  }
  return (time, level, scope, fields) => {
    let line = `${time}\t${level}\t${BARE_NAME.test(scope) ? scope : renderName(scope)}`
    for (const name in fields) {
      const value = fields[name]
      if (value === undefined) continue
      line += names.get(name) ?? remember(name)
      line += typeof value === 'string' ? renderText(value) : renderValue(value)
    }
    return `${line}\n`
  }
}

/** A name is never quoted, so that `grep ' http.status=403'` works. */
function renderName(name: string): string {
  return name.slice(0, 256).replaceAll(/[^\w.\-/@:]/g, '_') || '_'
}

function renderValue(value: LogValue): string {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  if (typeof value === 'bigint' || value instanceof Milliseconds) return String(value)
  return value === null ? 'null' : renderText(renderJson(value))
}

function renderText(text: string): string {
  return text.length <= 256 && BARE.test(text) ? text : quote(text)
}
