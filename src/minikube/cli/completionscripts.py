"""The scripts `minikube completion` prints. Each asks `minikube __complete` with the words so far, one answer per line."""

from __future__ import annotations

_BASH = r"""# bash completion for minikube
_minikube_complete() {
    local current=${COMP_WORDS[COMP_CWORD]} words=("${COMP_WORDS[@]:1:COMP_CWORD}") line
    # bash cuts words at "=": put --flag=value together again
    if [[ $current == "=" ]]; then
        current=""; words=("${COMP_WORDS[@]:1:COMP_CWORD-2}" "${COMP_WORDS[COMP_CWORD-1]}=")
    elif [[ ${COMP_WORDS[COMP_CWORD-1]} == "=" ]]; then
        words=("${COMP_WORDS[@]:1:COMP_CWORD-3}" "${COMP_WORDS[COMP_CWORD-2]}=$current")
    fi
    COMPREPLY=()
    while IFS= read -r line; do
        [[ ${words[-1]} == --*=* ]] && line=${line#*=}
        [[ $line == "$current"* ]] && COMPREPLY+=("$line")
    done < <(command "${COMP_WORDS[0]}" __complete -- "${words[@]}" 2>/dev/null)
}
complete -o default -F _minikube_complete minikube
"""

_ZSH = r"""#compdef minikube
_minikube() {
    local -a answers
    answers=("${(@f)$(command ${words[1]} __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    if [[ -n ${answers[1]} ]]; then
        compadd -a answers
    else
        _files
    fi
}
if [[ $funcstack[1] == _minikube ]]; then
    _minikube
else
    compdef _minikube minikube
fi
"""

_FISH = r"""# fish completion for minikube
function __minikube_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l answers (command $words[1] __complete -- $words[2..-1] 2>/dev/null)
    if set -q answers[1]
        printf '%s\n' $answers
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c minikube -f -a '(__minikube_complete)'
"""

_POWERSHELL = r"""# powershell completion for minikube
Register-ArgumentCompleter -Native -CommandName minikube -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $words = @($commandAst.CommandElements | ForEach-Object { "$_" })
    $before = @($words | Select-Object -Skip 1)
    if ($wordToComplete -eq '') { $before += '""' }
    & $words[0] __complete -- @before 2>$null | ForEach-Object {
        [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
    }
}
"""

SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH, "powershell": _POWERSHELL}
