"""Chat models: any endpoint that speaks the chat-completions protocol, through the openai SDK; and scripted replies."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from maven_env.errors import ConfigurationError, ModelError
from maven_env.types import Json, NativeCall, Reply, Usage


class OpenAIChat:
    """A model behind an OpenAI-compatible endpoint: OpenAI, OpenRouter, vLLM, Ollama, llama.cpp, transformers serve.

    Args:
        model: the model's name at the endpoint
        base_url: such as http://127.0.0.1:8000/v1; None means OpenAI's own
        api_key: None takes the environment variable OPENAI_API_KEY; servers on this machine mostly need none
        temperature, max_tokens, seed: passed on where given
        timeout: seconds for one request
        retries: how often the SDK repeats a request that failed for the moment, with backoff
    """

    def __init__(
        self,
        model: str,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        temperature: float | None = 0.0,
        max_tokens: int | None = None,
        seed: int | None = None,
        timeout: float = 300.0,
        retries: int = 4,
    ) -> None:
        try:
            import openai
        except ImportError:
            raise ConfigurationError('chat models need the openai SDK: pip install "maven-bench[openai]"') from None
        key = api_key or os.environ.get("OPENAI_API_KEY") or ("none" if base_url else None)
        if key is None:
            raise ConfigurationError("no API key: set OPENAI_API_KEY, or give --base-url for a server of your own")
        self.model = model
        self._errors = openai.OpenAIError
        self._client = openai.OpenAI(api_key=key, base_url=base_url, timeout=timeout, max_retries=retries)
        options = {"temperature": temperature, "max_tokens": max_tokens, "seed": seed}
        self._options = {name: value for name, value in options.items() if value is not None}

    def complete(self, messages: Sequence[Mapping[str, Json]], tools: Sequence[Mapping[str, Json]] = ()) -> Reply:
        """Ask for the next message. Raises ModelError with what the endpoint said."""
        options: dict[str, Any] = dict(self._options)
        if tools:
            options["tools"] = list(tools)
        try:
            create: Callable[..., Any] = self._client.chat.completions.create  # its types list every role apart
            answer = create(model=self.model, messages=[dict(message) for message in messages], **options)
        except self._errors as error:
            raise ModelError(f"{self.model} at {self._client.base_url}: {error}") from error
        if not answer.choices:
            raise ModelError(f"{self.model} at {self._client.base_url}: the answer has no choices")
        message = answer.choices[0].message
        calls = tuple(
            NativeCall(call.function.name, call.function.arguments or "")
            for call in message.tool_calls or ()
            if call.type == "function"
        )
        return Reply(message.content or "", calls, _usage(answer.usage))


class ScriptedChat:
    """A chat model that gives prepared replies in order, for tests and examples. It keeps what it was asked."""

    def __init__(self, replies: Iterable[str | Reply]) -> None:
        self._replies = iter(replies)
        self.requests: list[list[Mapping[str, Json]]] = []

    def complete(self, messages: Sequence[Mapping[str, Json]], tools: Sequence[Mapping[str, Json]] = ()) -> Reply:
        """Return the next reply. Raises ModelError when there is none left."""
        self.requests.append(list(messages))
        reply = next(self._replies, None)
        if reply is None:
            raise ModelError("the script has no reply left")
        return reply if isinstance(reply, Reply) else Reply(reply)


def _usage(usage: Any) -> Usage | None:
    return None if usage is None else Usage(usage.prompt_tokens, usage.completion_tokens)
