import { Button, CopyButton, Group, Stack, Text, Title } from '@mantine/core'
import { stringify } from 'yaml'
import type { ExampleRequest, Suggestion, Suggestions } from '../api/shapes.ts'
import { useApi } from '../api/use-api.ts'
import { Paged } from '../parts/paged.tsx'
import { Empty, Loading, Page, Problem } from '../parts/states.tsx'
import { Tag } from '../parts/tags.tsx'

/** Suggests the fewest Allow rules that admit the recorded requests. */
export function Suggest() {
  const { data, problem, reload } = useApi<Suggestions>('/api/policies/suggest')
  const isNothing = problem?.status === 409
  return (
    <Page
      title="Suggest"
      lead="The fewest Allow rules that admit the recorded requests. Each set was tested on the same records."
      actions={
        <Button variant="default" onClick={reload}>
          Refresh
        </Button>
      }
    >
      {problem === undefined || isNothing ? null : <Problem problem={problem} retry={reload} />}
      {data === undefined && problem === undefined ? (
        <Loading label="Testing rules on recorded requests" />
      ) : null}
      {isNothing ? (
        <Empty title="No admitted requests are recorded">
          Set `config.decisions.allowed` to the share of admitted requests to record, and `show` to
          what may be in a rule, such as `request` and `jwt.group`.
        </Empty>
      ) : null}
      <Paged label="suggestions" items={data?.suggestions ?? []}>
        {(one) => <SuggestionBox key={one.route} suggestion={one} />}
      </Paged>
      {[...Map.groupBy(data?.without ?? [], ({ why }) => why)].map(([why, routes]) => (
        <Without key={why} why={why} routes={routes.map(({ route }) => route)} />
      ))}
    </Page>
  )
}

interface WithoutProps {
  readonly why: string
  readonly routes: readonly string[]
}

/** Thousands of routes can share one reason. */
function Without({ why, routes }: WithoutProps) {
  const [only] = routes
  if (routes.length === 1) {
    return (
      <Text size="sm" c="dimmed">
        No suggestion for {only}: {why}.
      </Text>
    )
  }
  return (
    <details>
      <summary>
        No suggestion for {routes.length.toLocaleString()} routes: {why}.
      </summary>
      <Stack gap={2} mt="xs">
        <Paged label="routes" items={routes}>
          {(route) => (
            <Text key={route} size="sm" c="dimmed">
              {route}
            </Text>
          )}
        </Paged>
      </Stack>
    </details>
  )
}

const EFFECT = {
  no: 'Deny no request that is admitted now, because rules on the gateway or listener still admit it',
  unknown: 'Not known whether they deny any request that is admitted now',
} as const

function SuggestionBox({ suggestion }: { readonly suggestion: Suggestion }) {
  const { route, admitted, denied, rules, replaces, tightens } = suggestion
  const text = stringify({
    authorization: { rules: rules.map(({ expression }) => ({ allow: expression })) },
  })
  return (
    <section className="box" aria-label={`Rules for ${route}`}>
      <Stack gap="sm">
        <Group justify="space-between">
          <Group gap="xs">
            <Title order={2} size="h4">
              {route}
            </Title>
            <Tag tone="good">{`admit all ${admitted} admitted requests`}</Tag>
            {denied === 0 ? null : <Tag tone="quiet">{`admit none of ${denied} denied`}</Tag>}
            {tightens === 'yes' ? null : <Tag tone="warn">{EFFECT[tightens]}</Tag>}
          </Group>
          <Group gap="xs">
            <CopyButton value={text}>
              {({ copied, copy }) => (
                <Button size="xs" variant="default" onClick={copy}>
                  {copied ? 'Copied' : 'Copy as YAML'}
                </Button>
              )}
            </CopyButton>
            <a href={`/ui/policies/routes/${encodeURIComponent(route)}`}>Edit the route</a>
          </Group>
        </Group>
        {rules.map(({ expression, admits, denies, example, wouldDeny }) => (
          <div key={expression}>
            <div className="expression">allow: {expression}</div>
            <Text size="sm" c="dimmed">
              Admits {admits}, such as {example.method} {example.path}; denies {denies} of the other
              recorded requests.
            </Text>
            {wouldDeny.map((one) => (
              <Text key={JSON.stringify(one)} size="sm" c="dimmed">
                Would deny this request, which is admitted now: {exampleText(one)}
              </Text>
            ))}
          </div>
        ))}
        {replaces.length === 0 ? null : (
          <div>
            <Text size="sm">Instead of</Text>
            {replaces.map((rule) => (
              <div key={rule} className="expression">
                allow: {rule}
              </div>
            ))}
          </div>
        )}
      </Stack>
    </section>
  )
}

function exampleText({ method, path, query, identity = {}, headers = {} }: ExampleRequest): string {
  const named = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  const who = Object.keys(identity).length === 0 ? [] : [`as ${JSON.stringify(identity)}`]
  return [`${method} ${path}${query ? `?${query}` : ''}`, ...named, ...who].join(', ')
}
