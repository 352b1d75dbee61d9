import { HeaderMap } from '../cel/values/header-map.ts'

/** The headers of a message as rules and routes read them: by name in lower case. */
export abstract class HeaderView extends HeaderMap {
  /** All values of the name as one (cookies with `; `, others with `, `), undefined where absent. */
  abstract override get(name: unknown): string | undefined
  abstract override keys(): Iterable<string>
  abstract override all(name: string): readonly string[] | undefined
}

/** As much of it as those need who look for some headers. */
export type HeaderReader = Pick<HeaderView, 'get' | 'keys'>
