import { Select, SimpleGrid, Stack, Text, Title, useMantineColorScheme } from '@mantine/core'
import { useState } from 'react'
import { type ApiProblem, apiPath, call } from '../api/client.ts'
import type { ConfigOutline } from '../api/shapes.ts'
import { useApi } from '../api/use-api.ts'
import { useHealth } from '../health.ts'
import { Loading, Page, Problem, RoleNote } from '../parts/states.tsx'
import { useMay } from '../session.ts'

const LEVELS = ['off', 'error', 'warn', 'info', 'debug', 'trace']
const SCHEMES = [
  { value: 'auto', label: 'Same as system' },
  { value: 'light', label: 'Light' },
  { value: 'dark', label: 'Dark' },
]

export function Settings() {
  const { data: health } = useHealth()
  const { data: outline } = useApi<ConfigOutline>('/api/config')
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  return (
    <Page title="Settings" lead="Settings of this process and this browser.">
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <section className="box" aria-label="Gateway">
          <Title order={2} size="h4" mb="xs">
            Gateway
          </Title>
          {health === undefined ? (
            <Loading label="Reading it" />
          ) : (
            <Stack gap={4}>
              <Fact name="Version" value={health.version} />
              <Fact name="State" value={health.detail} />
              <Fact name="Storage" value={health.storage.mode} />
              <Fact name="Revision" value={String(health.storage.revision)} />
              {health.storage.problem === null ? null : (
                <Fact name="Problem" value={health.storage.problem} />
              )}
              <Fact name="File" value={outline?.file ?? ''} />
              <Fact name="Its SHA-256" value={outline?.digest ?? ''} />
            </Stack>
          )}
        </section>
        <Stack>
          <LogLevel />
          <Select
            label="Colours"
            description="Stored in this browser"
            data={SCHEMES}
            value={colorScheme}
            allowDeselect={false}
            onChange={(scheme) => setColorScheme((scheme ?? 'auto') as 'auto' | 'light' | 'dark')}
          />
          <Text size="sm">
            Everything in this UI can be scripted:{' '}
            <a href={apiPath('/api/openapi.json')}>the description of the admin API</a>.
          </Text>
        </Stack>
      </SimpleGrid>
    </Page>
  )
}

function Fact({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <Text size="sm">
      <b>{name}:</b> <span className="expression">{value}</span>
    </Text>
  )
}

function LogLevel() {
  const { data, problem, reload } = useApi<{ level: string }>('/api/logging')
  const [failure, setFailure] = useState<ApiProblem>()
  const set = async (level: string | null) => {
    try {
      await call('/api/logging', { method: 'PUT', body: { level } })
      setFailure(undefined)
    } catch (error) {
      setFailure(error as ApiProblem)
    }
    reload()
  }
  const wrong = failure ?? problem
  const mayChange = useMay('admin')
  return (
    <>
      <Select
        label="Log level"
        description="For all workers, until this process stops"
        disabled={!mayChange}
        data={LEVELS}
        value={data?.level ?? null}
        allowDeselect={false}
        onChange={set}
      />
      <RoleNote needs="admin" to="change it" />
      {wrong === undefined ? null : <Problem problem={wrong} />}
    </>
  )
}
